"""forerun-lab adapt, then forerun predict: a made-up machine that is 1.7 times slower than answered is learned from 24 runs."""
import json
import os
import subprocess
import sys
import tempfile

FORERUN, LAB = sys.argv[1], sys.argv[2]
DEVICE = "v100-sxm-16gb"
SLOWER = 1.7


def run(program, *arguments, text=None, home=None):
    environment = dict(os.environ, XDG_CONFIG_HOME=home)
    return subprocess.run([program, *arguments], input=text, capture_output=True, text=True, env=environment, check=False)


def predict(home, requests):
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = run(FORERUN, "predict", "-", text=lines, home=home)
    assert done.returncode == 0, done.stderr
    return [json.loads(line)["results"][0] for line in done.stdout.splitlines()]


def request(config, batch, runtime="eager", device=DEVICE):
    return {"model": config, "device": device, "batch": batch, "seq": 256, "phase": "prefill", "precision": "fp16", "runtime": runtime}


def refused(done, *words):
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    for word in words:
        assert word in done.stderr, (word, done.stderr)


def main():
    with tempfile.TemporaryDirectory() as folder:
        home = os.path.join(folder, "home")
        campaign = os.path.join(folder, "campaign")
        os.makedirs(os.path.join(campaign, "configs"))
        configs = {}
        for layers, width in ((4, 256), (6, 512), (12, 768), (8, 1024), (16, 1024), (10, 640), (7, 896)):
            name = f"tiny-{layers}-{width}"
            configs[name] = os.path.join(campaign, "configs", name + ".json")
            with open(configs[name], "w", encoding="utf-8") as file:
                json.dump({"model_type": "gpt2", "n_layer": layers, "n_embd": width, "n_head": 8, "vocab_size": 8000, "n_positions": 1024}, file)
        judged = list(configs)[-1]
        rows = [(name, batch) for name in configs if name != judged for batch in (1, 4, 16, 64)]
        before = predict(home, [request(configs[n], b) for n, b in rows])
        table = ["id,model,family,config,phase,batch,sequence,precision,latency_ms_median"]
        for (name, batch), answer in zip(rows, before):
            value = SLOWER * answer["estimates"]["latency_ms"]["value"]
            table.append(f"{len(table)},{name},gpt2,{name}.json,prefill,{batch},256,fp16,{value}")
        with open(os.path.join(campaign, "llm_inference.csv"), "w", encoding="utf-8") as file:
            file.write("\n".join(table) + "\n")

        asked = [request(configs[judged], 8), request(configs[judged], 8, "graph"), request(configs[judged], 8, device="a40")]
        plain = predict(home, asked)
        done = run(LAB, "adapt", "--device", DEVICE, "--measurements", campaign, home=home)
        assert done.returncode == 0, done.stderr
        bundle = os.path.join(home, "forerun", "bundles", f"adapted-{DEVICE}.bundle")
        assert bundle in done.stdout and "24 rows" in done.stdout, done.stdout
        adapted = predict(home, asked)
        was, now = plain[0]["estimates"]["latency_ms"], adapted[0]["estimates"]["latency_ms"]
        truth = SLOWER * was["value"]
        assert abs(now["value"] / truth - 1) < 0.05, (was, now)
        assert now["low"] <= truth <= now["high"] and now["high"] / now["low"] < was["high"] / was["low"], (was, now)
        assert now["basis"] == "learned" and now["predictor"].endswith("+adapted-" + DEVICE), now
        assert any("corrected by measurements" in w for w in adapted[0]["warnings"]), adapted[0]["warnings"]
        for other in (1, 2):  # graph replay was not measured; another device neither
            assert adapted[other]["estimates"]["latency_ms"] == plain[other]["estimates"]["latency_ms"], other
            assert not any("corrected" in w for w in adapted[other]["warnings"]), adapted[other]["warnings"]

        # A broken bundle is refused, said, and the answer is the one without it.
        with open(bundle, "r+b") as file:
            file.seek(200)
            byte = file.read(1)
            file.seek(200)
            file.write(bytes([byte[0] ^ 255]))
        broken = predict(home, asked)[0]
        assert broken["estimates"]["latency_ms"] == was, broken
        assert any("cannot be used" in w and "adapted-" + DEVICE in w for w in broken["warnings"]), broken["warnings"]
        os.remove(bundle)

        # Wrong input: one line that says what.
        empty = os.path.join(folder, "empty")
        os.makedirs(empty)
        refused(run(LAB, "adapt", "--device", DEVICE, "--measurements", empty, home=home), "no measured row of " + DEVICE, "llm_inference.csv")
        refused(run(LAB, "adapt", "--device", DEVICE, "--measurements", empty + "-not", home=home), "no such file or folder")
        refused(run(LAB, "adapt", "--device", "no-such-gpu", "--measurements", campaign, home=home), "no-such-gpu")
        with open(os.path.join(campaign, "llm_inference.csv"), "w", encoding="utf-8") as file:
            file.write(table[0] + "\n")
        refused(run(LAB, "adapt", "--device", DEVICE, "--measurements", campaign, home=home), "no measured row of " + DEVICE)
        with open(os.path.join(campaign, "llm_inference.csv"), "w", encoding="utf-8") as file:
            file.write("\n".join(table) + "\n")
        with open(os.path.join(campaign, "campaign.json"), "w", encoding="utf-8") as file:
            json.dump({"device": "a40"}, file)
        refused(run(LAB, "adapt", "--device", DEVICE, "--measurements", campaign, home=home), "its rows are of a40")
        not_trees = os.path.join(folder, "not.bundle")
        with open(not_trees, "wb") as file:
            file.write(b"FORERUN1 nothing else")
        refused(run(LAB, "adapt", "--device", "a40", "--measurements", campaign, "--bundle", not_trees, home=home), "not.bundle")
        assert not os.listdir(os.path.join(home, "forerun", "bundles"))


main()

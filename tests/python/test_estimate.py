"""An estimate is a number with an interval."""
import math

import pytest

from forerun import Estimate


def estimate(value, low, high, basis="learned", predictor="trees"):
    return Estimate.from_dict({"value": value, "low": low, "high": high, "basis": basis, "predictor": predictor})


def bounds(one):
    return pytest.approx((one.value, one.low, one.high))


FOUR, TWO = estimate(4.0, 3.0, 6.0), estimate(2.0, 1.0, 3.0, "roofline", "roofline")


def test_it_compares_by_its_value():
    assert FOUR < 5 and FOUR > TWO and FOUR >= 4 and FOUR == 4.0 and 3 < FOUR <= 4 and FOUR != TWO
    assert sorted([FOUR, 1, TWO]) == [1, TWO, FOUR] and max(FOUR, TWO) is FOUR and len({FOUR, 4.0}) == 1
    with pytest.raises(TypeError):
        FOUR < "5"


def test_the_interval_goes_along():
    assert bounds(FOUR * 2) == (8, 6, 12) and bounds(2 * FOUR) == (8, 6, 12)
    assert bounds(FOUR + 1) == (5, 4, 7) and bounds(1 - FOUR) == (-3, -5, -2)
    assert bounds(1000 / FOUR) == (250, 1000 / 6, 1000 / 3) and bounds(FOUR / -2) == (-2, -3, -1.5)
    assert bounds(FOUR - TWO) == (2, 0, 5) and bounds(FOUR / TWO) == (2, 1, 6) and bounds(-FOUR) == (-4, -6, -3)
    assert bounds(sum([FOUR, TWO])) == (6, 4, 9) and bounds(abs(-FOUR)) == (4, 3, 6) and bounds(round(FOUR / 3, 1)) == (1.3, 1.0, 2.0)


def test_the_less_certain_basis_names_the_result():
    assert (FOUR * 2).basis == "learned" and (FOUR / TWO).basis == "roofline" and (FOUR / TWO).predictor == "trees+roofline"


def test_dividing_by_an_interval_that_holds_zero_fails():
    with pytest.raises(ZeroDivisionError):
        1 / (FOUR - TWO)
    with pytest.raises(ZeroDivisionError):
        FOUR / 0


def test_it_formats_as_a_number_or_with_its_interval():
    assert f"{FOUR:.2f}" == "4.00" and f"{FOUR:.1f~}" == "4.0 (3.0 to 6.0)" and f"{FOUR}" == "4 (3 to 6, learned)"
    assert float(FOUR) == 4.0 and int(FOUR) == 4 and math.sqrt(FOUR) == 2.0 and 5 in FOUR and 7 not in FOUR


def test_numpy_takes_it_for_a_number():
    numpy = pytest.importorskip("numpy")
    assert numpy.asarray([FOUR, TWO], dtype=float).tolist() == [4.0, 2.0]
    assert bounds(numpy.float64(2) * FOUR) == (8, 6, 12)
    assert [one.value for one in FOUR * numpy.array([1.0, 2.0])] == [4.0, 8.0]

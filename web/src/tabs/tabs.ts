// The questions beside the one about a pass: a bar of tabs, and the panel of the one that is open.
import { h } from '../dom.ts';

export interface Tab {
  id: string;
  label: string;
  /** Absent: the page's own results. */
  panel?: HTMLElement;
}

export class Tabs {
  readonly bar: HTMLElement;
  private readonly buttons: HTMLButtonElement[];

  constructor(private readonly tabs: readonly Tab[], private readonly own: HTMLElement, on_open: (id: string) => void) {
    this.buttons = tabs.map((tab) => h('button', { type: 'button', role: 'tab', id: `tab-${tab.id}`, onclick: () => on_open(tab.id) }, tab.label));
    this.bar = h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Question' }, ...this.buttons);
    this.bar.addEventListener('keydown', (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const at = this.buttons.indexOf(document.activeElement as HTMLButtonElement);
      if (!step || at < 0) return;
      const next = this.buttons[(at + step + this.buttons.length) % this.buttons.length]!;
      next.focus();
      next.click();
    });
  }

  open(id: string): void {
    const known = this.tabs.some((tab) => tab.id === id) ? id : this.tabs[0]!.id;
    this.tabs.forEach((tab, index) => {
      const is_open = tab.id === known;
      this.buttons[index]!.setAttribute('aria-selected', String(is_open));
      this.buttons[index]!.tabIndex = is_open ? 0 : -1;
      (tab.panel ?? this.own).hidden = !is_open;
    });
  }
}

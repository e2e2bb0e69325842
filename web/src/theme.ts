// Light, dark, or as the system has it; the choice is kept in this browser.
import { h } from './dom.ts';

type Theme = 'system' | 'light' | 'dark';
const kKey = 'forerun.theme';
const kNext: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' };
const kSign: Record<Theme, string> = { system: '◐', light: '☀', dark: '☾' };

function saved(): Theme {
  const text = localStorage.getItem(kKey);
  return text === 'light' || text === 'dark' ? text : 'system';
}

function apply(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}

export function theme_button(): HTMLButtonElement {
  let theme = saved();
  const button = h('button', { type: 'button', class: 'icon', id: 'theme', onclick: () => {
    theme = kNext[theme];
    localStorage.setItem(kKey, theme);
    show();
  } });
  const show = () => {
    apply(theme);
    button.textContent = kSign[theme];
    button.title = `Colours: ${theme}`;
    button.setAttribute('aria-label', `Colours: ${theme}. Change`);
  };
  show();
  return button;
}

// The documents of docs/, as they are compiled into the program, and the API's description for people.
import { Marked } from 'marked';
import { h } from '../dom.ts';
import { theme_button } from '../theme.ts';
import { render_api, type Description } from './api_page.ts';
import { anchor_of, kSections, place_of, target_of } from './pages.ts';
import '../styles/base.css';
import '../styles/docs.css';

const marked = new Marked({ gfm: true });
const article = h('main', { id: 'article', tabindex: -1 });
const nav = h('nav', { class: 'contents', 'aria-label': 'Documents' }, ...kSections.map((section) =>
  h('section', {}, h('h2', {}, section.title), h('ul', {}, ...section.pages.map(([name, label]) => h('li', {}, h('a', { href: `#${name}`, 'data-page': name }, label)))))));
let shown = '';

async function content_of(page: string): Promise<HTMLElement> {
  if (page === 'api') return render_api((await (await fetch('openapi.json')).json()) as Description);
  const response = await fetch(`docs/${page}.md`);
  if (!response.ok) return h('div', {}, h('h1', {}, 'Not here'), h('p', {}, `This program has no document “${page}”; the repository may.`));
  const content = h('div', {});
  content.innerHTML = await marked.parse(await response.text());
  for (const heading of content.querySelectorAll('h1, h2, h3')) heading.id = anchor_of(heading.textContent ?? '');
  for (const link of content.querySelectorAll('a')) {
    const target = target_of(link.getAttribute('href') ?? '', page);
    if (target === null) link.replaceWith(h('span', { class: 'elsewhere', title: `In the repository: ${link.getAttribute('href')}` }, ...link.childNodes as unknown as Node[]));
    else link.setAttribute('href', target);
  }
  for (const image of content.querySelectorAll('img')) {
    const file = image.getAttribute('src')!.split('/').pop()!;
    if (file === 'accuracy.svg') image.src = `docs/${file}`;
    else image.remove();
  }
  for (const table of content.querySelectorAll('table')) {
    const scroll = h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Table' });
    table.replaceWith(scroll);
    scroll.append(table);
  }
  for (const block of content.querySelectorAll('pre')) block.tabIndex = 0;
  return content;
}

async function show(): Promise<void> {
  const [page, heading] = place_of(location.hash);
  if (page !== shown) {
    article.setAttribute('aria-busy', 'true');
    article.replaceChildren(await content_of(page));
    article.setAttribute('aria-busy', 'false');
    shown = page;
    document.title = `Forerun: ${article.querySelector('h1')?.textContent ?? page}`;
    for (const link of nav.querySelectorAll('a')) {
      if (link.dataset['page'] === page) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
    scrollTo(0, 0);
  }
  if (heading) document.getElementById(heading)?.scrollIntoView();
}

document.querySelector('#app')!.append(
  h('a', { class: 'skip', href: '#article', onclick: (event: Event) => { event.preventDefault(); article.focus(); } }, 'Skip to the text'),
  h('header', { class: 'bar' }, h('img', { src: './favicon.svg', alt: '', width: 22, height: 22 }), h('a', { class: 'home', href: './' }, 'Forerun'), h('span', { class: 'tagline' }, 'documents'), theme_button()),
  h('div', { class: 'document-layout' }, h('details', { class: 'contents-holder', open: innerWidth > 900 }, h('summary', {}, 'Contents'), nav), article),
);
addEventListener('hashchange', () => void show());
void show();

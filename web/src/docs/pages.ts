// Which documents are shown where, and how their links are told apart: pages by name, pages elsewhere, headings.
export interface Section {
  title: string;
  pages: readonly (readonly [name: string, label: string])[];
}

export const kSections: readonly Section[] = [
  { title: 'Start', pages: [['index', 'Overview'], ['getting-started', 'Getting started'], ['accuracy', 'How accurate'], ['faq', 'Questions'], ['glossary', 'Glossary']] },
  { title: 'Tutorials', pages: [['choose-a-gpu', 'Choose a GPU'], ['latency-budget', 'Fit a latency budget'], ['chat-service', 'Size a chat service'], ['training-run', 'Plan a training run'], ['your-own-gpu', 'Bring your own GPU']] },
  { title: 'In depth', pages: [['latency-and-memory-of-a-network', 'A network'], ['language-models', 'Language models'], ['serving', 'Serving'], ['training-steps', 'Training steps'], ['several-devices', 'Several devices'], ['advise', 'What to change'], ['mig', 'MIG'], ['cost-and-carbon', 'Cost and carbon']] },
  { title: 'From programs', pages: [['api', 'API'], ['http', 'HTTP'], ['python', 'Python'], ['formats', 'Formats'], ['metrics', 'Metrics'], ['packages', 'Packages']] },
  { title: 'Method', pages: [['analytic', 'Analytic model'], ['trees', 'Trees'], ['graph-network', 'Graph network'], ['devices-never-measured', 'Devices never measured'], ['measurements', 'Measurements'], ['bundles', 'Bundles']] },
];

/** "#serving:the-load" → ["serving", "the-load"]; nothing is the overview. */
export function place_of(hash: string): [page: string, heading: string] {
  const [page = '', heading = ''] = decodeURIComponent(hash.replace(/^#/, '')).split(':');
  return [/^[\w.-]+$/.test(page) ? page : 'index', heading];
}

/** As GitHub names headings: lower case, spaces as dashes, no punctuation. */
export const anchor_of = (heading: string): string =>
  heading.toLowerCase().replace(/[^\p{L}\p{N}\- _]/gu, '').replace(/ /g, '-');

/** Where a link of a page leads: another page here, or nothing for files that are in the repository only. */
export function target_of(link: string, page: string): string | null {
  if (/^[a-z]+:/.test(link)) return link;
  const [path = '', heading = ''] = link.split('#');
  if (!path) return `#${page}:${heading}`;
  if (!path.endsWith('.md')) return null;
  const parts = path.split('/');
  const name = parts.pop()!.replace(/\.md$/, '');
  const folder = parts.pop();
  if (name === 'README') return folder === 'tutorials' ? '#index' : null;
  return `#${name}${heading ? `:${heading}` : ''}`;
}

// The API's description as a page that a person can read: each operation with its fields, an example and its answer.
import { h, type Child } from '../dom.ts';

interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
  items?: Schema;
  oneOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  required?: string[];
}
interface Media {
  schema: Schema;
  example?: unknown;
}
interface Operation {
  operationId: string;
  summary: string;
  parameters?: { name: string; in: string; schema: Schema }[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, { content: Record<string, Media> }>;
}
export interface Description {
  info: { version: string };
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

const name_of = (ref: string): string => ref.split('/').pop()!;
const link = (name: string): HTMLElement => h('a', { href: `#api:schema-${name}` }, name);

/** "text", "[Kernel]", "integer 1 … 10": a type in words, with links to other schemas. */
function type_words(schema: Schema): Child[] {
  if (schema.$ref) return [link(name_of(schema.$ref))];
  const several = schema.oneOf ?? schema.allOf;
  if (several) return several.flatMap((one, index) => [index > 0 && ' or ', ...type_words(one)]);
  if (schema.enum) return [schema.enum.join(' | ')];
  if (schema.type === 'array') return ['list of ', ...type_words(schema.items ?? {})];
  if (schema.type === 'object' && typeof schema.additionalProperties === 'object') return ['by name: ', ...type_words(schema.additionalProperties)];
  const type = Array.isArray(schema.type) ? schema.type.join(' or ') : (schema.type ?? 'anything');
  const range = schema.minimum !== undefined && schema.maximum !== undefined ? ` ${schema.minimum} … ${schema.maximum}` : '';
  return [type === 'string' ? 'text' : type, range];
}

function fields_table(caption: string, schema: Schema): HTMLElement {
  const required = new Set(schema.required ?? []);
  return h(
    'div',
    { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption },
    h(
      'table',
      {},
      h('thead', {}, h('tr', {}, ...['Field', 'Type', 'Meaning'].map((text) => h('th', { scope: 'col' }, text)))),
      h('tbody', {}, ...Object.entries(schema.properties ?? {}).map(([name, field]) =>
        h('tr', {}, h('th', { scope: 'row' }, h('code', {}, name), required.has(name) && h('small', {}, ' always')), h('td', {}, ...type_words(field)), h('td', {}, field.description ?? '')))),
    ),
  );
}

function curl(path: string, method: string, media: Media | undefined): string {
  if (method === 'get') return `curl -s ${location.origin}${path.replace('{id}', 'l4')}`;
  return `curl -s ${location.origin}${path} -H 'Content-Type: application/json' \\\n     -d '${JSON.stringify(media?.example ?? {})}'`;
}

function operation(path: string, method: string, it: Operation, schemas: Record<string, Schema>): HTMLElement {
  const media = it.requestBody?.content['application/json'];
  const request = media?.schema.$ref && schemas[name_of(media.schema.$ref)];
  const answers = Object.values(it.responses['200']?.content ?? {}).map((answer) => answer.schema);
  const others = Object.keys(it.requestBody?.content ?? {}).filter((type) => type !== 'application/json');
  return h(
    'section',
    {},
    h('h2', { id: it.operationId }, h('code', {}, `${method.toUpperCase()} ${path}`)),
    h('p', {}, `${it.summary}.`, others.length > 0 && ` Also takes ${others.join(' and ')}.`),
    h('pre', { tabindex: 0 }, h('code', {}, curl(path, method, media))),
    it.parameters?.length ? h('p', {}, 'Parameters: ', ...it.parameters.flatMap((one, index) => [index > 0 && ', ', h('code', {}, one.name), ` (${one.schema.type})`])) : null,
    request ? h('details', {}, h('summary', {}, `Fields of the request (${Object.keys(request.properties ?? {}).length})`), fields_table(`Request of ${it.operationId}`, request)) : null,
    h('p', {}, 'Answer: ', ...answers.flatMap((schema, index) => [index > 0 && ', or a line of ', ...type_words(schema)])),
  );
}

export function render_api(description: Description): HTMLElement {
  const { schemas } = description.components;
  const operations = Object.entries(description.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, it]) => [path, method, it] as const));
  return h(
    'div',
    {},
    h('h1', {}, 'API'),
    h('p', {}, `Forerun ${description.info.version}. For programs: `, h('a', { href: 'openapi.json' }, 'openapi.json'), ' (OpenAPI 3.1). In words: ', h('a', { href: '#http' }, 'HTTP'), '.'),
    h('ul', {}, ...operations.map(([path, method, it]) => h('li', {}, h('a', { href: `#api:${it.operationId}` }, h('code', {}, `${method.toUpperCase()} ${path}`)), ` ${it.summary}`))),
    ...operations.map(([path, method, it]) => operation(path, method, it, schemas)),
    h('h1', {}, 'Schemas'),
    ...Object.entries(schemas).filter(([name]) => !name.endsWith('Request')).map(([name, schema]) =>
      h('section', {}, h('h2', { id: `schema-${name}` }, name), schema.description ? h('p', {}, `${schema.description}.`) : null, fields_table(name, schema))),
  );
}

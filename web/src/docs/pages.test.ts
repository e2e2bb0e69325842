import { describe, expect, it } from 'vitest';
import { anchor_of, place_of, target_of } from './pages.ts';

describe('links between documents', () => {
  it('lead to pages by name', () => {
    expect(target_of('../serving.md#the-load', 'chat-service')).toBe('#serving:the-load');
    expect(target_of('method/bundles.md', 'http')).toBe('#bundles');
  });
  it('stay on the page for headings', () => expect(target_of('#limits', 'http')).toBe('#http:limits'));
  it('leave other sites alone', () => expect(target_of('https://example.org/a.md', 'http')).toBe('https://example.org/a.md'));
  it('lead nowhere for files of the repository', () => {
    expect(target_of('examples/nginx.conf', 'http')).toBeNull();
    expect(target_of('../measuring/README.md', 'http')).toBeNull();
  });
  it('headings have the names that links give them', () => expect(anchor_of('What a "step" is: `x`')).toBe('what-a-step-is-x'));
  it('an odd hash is the overview', () => expect(place_of('#<b>')).toEqual(['index', '']));
});

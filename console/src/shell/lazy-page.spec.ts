import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { lazyPage } from './lazy-page.js';

const Page = () => createElement('p', null, 'The page.');

describe('a page that is loaded when it is about to be opened', () => {
  it('is there at once when it has been loaded: React holds back for 300 ms what has suspended', async () => {
    const Lazy = lazyPage(async () => ({ Page }), 'Page');
    await Lazy.preload();
    expect(renderToStaticMarkup(createElement(Lazy))).toBe('<p>The page.</p>');
  });

  it('is asked for again when it could not be loaded', async () => {
    let attempts = 0;
    const load = async () => {
      if (++attempts === 1) throw new Error('away');
      return { Page };
    };
    const Lazy = lazyPage(load, 'Page');
    await Lazy.preload();
    await Lazy.preload();
    expect(renderToStaticMarkup(createElement(Lazy))).toBe('<p>The page.</p>');
  });
});

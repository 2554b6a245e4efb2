import { createElement, type ComponentType, use } from 'react';
import type { RouteComponent } from '@tanstack/react-router';

/**
 * A page whose code is loaded just before it opens. A failed load throws inside the frame, and the next attempt loads
 * again. The router's own lazy pages reload the address instead, which shows nothing while the service is away.
 */
export function lazyPage<Name extends string>(
  load: () => Promise<Record<Name, unknown>>,
  name: Name,
): RouteComponent & { preload: () => Promise<void> } {
  let page: ComponentType | undefined;
  let loading: Promise<ComponentType> | undefined;
  const loaded = () => {
    loading ??= load().then((module) => (page = module[name] as ComponentType));
    loading.catch(() => (loading = undefined));
    return loading;
  };
  // `use` suspends even for loaded code, and React then shows nothing new for up to 300 ms
  const LazyPage = () => createElement(page ?? use(loaded()));
  // a failed preload is reported when the page opens
  return Object.assign(LazyPage, {
    preload: () =>
      loaded().then(
        () => undefined,
        () => undefined,
      ),
  });
}

import { createElement, type ComponentType, use } from 'react';
import type { RouteComponent } from '@tanstack/react-router';

/**
 * A page that is loaded when it is about to be opened. One that could not be loaded throws inside the frame, and is asked for
 * again by the next attempt; the router's own would load the address anew, which shows nothing while the service is away.
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
  // `use` suspends for what is loaded too, and React shows nothing new within 300 ms of a suspense
  const LazyPage = () => createElement(page ?? use(loaded()));
  // what could not be loaded beforehand is told when it is opened
  return Object.assign(LazyPage, {
    preload: () =>
      loaded().then(
        () => undefined,
        () => undefined,
      ),
  });
}

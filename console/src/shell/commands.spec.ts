import { matchingCommands } from './commands.ts';

const command = (name: string, words = '') => ({ name, words, run: () => undefined });

it('finds by each word, beginnings first', () => {
  const all = [command('Open acme/traces'), command('Traces', 'calls list'), command('Metrics')];
  const names = (typed: string) => matchingCommands(all, typed).map(({ name }) => name);
  expect(names('tra')).toEqual(['Traces', 'Open acme/traces']);
  expect(names('list calls')).toEqual(['Traces']);
  expect(names('')).toHaveLength(3);
  expect(names('nothing')).toEqual([]);
});

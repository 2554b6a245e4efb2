import { registerCounter } from '../../platform/process/metrics.js';
import type { Origin } from './otlp.js';

export const foldedSpans = registerCounter(
  'skein_otlp_folded_spans_total',
  'Spans that were not stored because OTLP_FOLD names them and they say nothing of models, agents or tools, by scope.',
  ['scope'],
);

interface FoldRule {
  scope: RegExp;
  name: RegExp | null;
  isKept: boolean;
}

const wildcardPattern = (text: string) =>
  new RegExp(
    `^${text
      .split('*')
      .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
      .join('.*')}$`,
  );

/**
 * Decides which spans `OTLP_FOLD` folds. The setting is a list of rules `<scope>` or `<scope>/<name>`, separated by
 * commas. The last matching rule counts; a rule that begins with `!` keeps its spans.
 */
export class SpanFolding {
  private readonly rules: readonly FoldRule[];
  private readonly byOrigin = new WeakMap<Origin, readonly FoldRule[]>();

  constructor(setting: string) {
    const texts = setting.split(',').map((text) => text.trim());
    this.rules = texts.filter(Boolean).map((text) => {
      const isKept = text.startsWith('!');
      const [scope = '', ...name] = (isKept ? text.slice(1) : text).split('/');
      return {
        scope: wildcardPattern(scope),
        name: name.length > 0 ? wildcardPattern(name.join('/')) : null,
        isKept,
      };
    });
  }

  folds(origin: Origin, name: string): boolean {
    let rules = this.byOrigin.get(origin);
    if (!rules) {
      const scope = origin.scope.name ?? '';
      rules = this.rules.filter((rule) => rule.scope.test(scope));
      this.byOrigin.set(origin, rules);
    }
    const rule = rules.findLast((one) => one.name === null || one.name.test(name));
    return rule !== undefined && !rule.isKept;
  }
}

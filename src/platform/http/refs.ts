import { WIRE_DIALECTS } from '../config/config.js';
import { PROJECT_PART } from './dto.js';
import { wire } from './wire-names.js';

export type RefKind = 'object' | 'op' | 'call' | 'agent_span' | 'agent_turn' | 'agent_conversation';

/**
 * The parts of `<scheme>:///<entity>/<project>/<kind>/<name>:<digest>[/<path>]`, or `…/<kind>/<id>` for the other
 * kinds.
 */
export interface Ref {
  projectId: string;
  kind: RefKind;
  /** Name of the object or op; the id for the other kinds. */
  name: string;
  /** A digest, `latest`, `v<n>`, or an alias, which may contain single spaces. Null for an id. */
  digest: string | null;
  /** Steps into the value after the digest: `/`-separated pairs such as `attr/model/index/0`. */
  path: string[];
}

/** Matches the scheme of refs in either dialect. */
export const SCHEME = `(?:${WIRE_DIALECTS.join('|')})`;

const REF = new RegExp(
  `^${SCHEME}:///(${PROJECT_PART}/${PROJECT_PART})/(?:(object|op)/([^/:\\s]{1,256}):([^/:\\s](?:[^/:\\s]| (?=[^/:\\s])){0,127})((?:/[^/]+)*)|(call|agent_span|agent_turn|agent_conversation)/([^/\\p{Cc}\\p{Cs}]+)((?:/[^/]+)*))$`,
  'u',
);

/** Returns null when the text is no ref. It does not check that the item exists. */
export function parseRef(text: unknown): Ref | null {
  const match = typeof text === 'string' ? REF.exec(text) : null;
  if (!match) return null;
  const [, projectId, kind, name, digest, path, idKind, id, idPath] = match;
  const steps = (path ?? idPath ?? '').split('/').slice(1);
  return id === undefined
    ? { projectId: projectId!, kind: kind as RefKind, name: name!, digest: digest!, path: steps }
    : { projectId: projectId!, kind: idKind as RefKind, name: id, digest: null, path: steps };
}

/** Returns a ref as the client of the request spells it. `item` is the part after the project: `call/<id>`. */
export const refTo = (projectId: string, item: string): string =>
  `${wire().scheme}:///${projectId}/${item}`;

/** Returns refs to items of a project in both dialects, because they may have been stored under the other setting. */
export const spellRefs = (
  projectId: string,
  kinds: RefKind[],
  names: readonly string[],
): string[] =>
  WIRE_DIALECTS.flatMap((scheme) =>
    kinds.flatMap((kind) => names.map((name) => `${scheme}:///${projectId}/${kind}/${name}`)),
  );

/** Returns the spellings of a thread's id in refs. Clients differ in the characters that they escape. */
export function spelledThreadIds(id: string): string[] {
  const strict = encodeURIComponent(id).replaceAll(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return [...new Set([strict, encodeURIComponent(id)])];
}

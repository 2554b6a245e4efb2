import { PROJECT_PART } from './dto.js';
import { WIRE } from './wire.js';

export type RefKind = 'object' | 'op' | 'call';

/** The parts of `<scheme>:///<entity>/<project>/<kind>/<name>:<digest>[/<path>]` or `…/call/<id>`. */
export interface Ref {
  projectId: string;
  kind: RefKind;
  /** Name of the object or op, or the id of the call. */
  name: string;
  /** Null for a call. */
  digest: string | null;
  /** What follows the digest: steps into the value, `/`-separated pairs such as `attr/model/index/0`. */
  path: string[];
}

const REF = new RegExp(
  `^${WIRE.scheme}:///(${PROJECT_PART}/${PROJECT_PART})/(?:(object|op)/([^/:\\s]{1,256}):([^/:\\s]{1,128})((?:/[^/]+)*)|call/([^/\\p{Cc}\\p{Cs}]{1,256})((?:/[^/]+)*))$`,
  'u',
);

/** Null when the text is no ref of the scheme in force. Existence is not looked at. */
export function parseRef(text: unknown): Ref | null {
  const match = typeof text === 'string' ? REF.exec(text) : null;
  if (!match) return null;
  const [, projectId, kind, name, digest, path, callId, callPath] = match;
  const steps = (path ?? callPath ?? '').split('/').slice(1);
  return callId === undefined
    ? { projectId: projectId!, kind: kind as RefKind, name: name!, digest: digest!, path: steps }
    : { projectId: projectId!, kind: 'call', name: callId, digest: null, path: steps };
}

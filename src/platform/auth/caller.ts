import { isProjectId, PROJECT_PART } from '../http/dto.js';
import { ApiError } from '../errors.js';
import type { ApiKey, Role } from './api-key.entity.js';

const RANK: Record<Role, number> = { trainer: 0, reader: 1, writer: 2, admin: 3 };

/** Whether the caller's key is valid now, and the challenge of the scheme that was used. */
interface Credential {
  challenge: string;
  isActive: () => Promise<boolean>;
}

/** The sender of a request: its key, without the secret. */
export class Caller {
  readonly keyId: string;
  readonly userName: string;
  readonly role: Role;
  readonly scopes: readonly string[];
  readonly expiresAt: Date | null;
  /** Whose share of the process it uses: `<entity>/<key>`, as of `Shares`. */
  readonly owner: string;

  constructor(
    key: Pick<ApiKey, 'id' | 'userName' | 'role' | 'scopes' | 'expiresAt'>,
    private readonly credential: Credential,
  ) {
    this.keyId = key.id;
    this.userName = key.userName;
    this.role = key.role;
    this.scopes = key.scopes;
    this.expiresAt = key.expiresAt;
    this.owner = `${shareEntityOf(key)}/${key.id}`;
  }

  isExpired(): boolean {
    return this.expiresAt !== null && this.expiresAt.getTime() <= Date.now();
  }

  /**
   * For requests that wait, stream or upload: to be asked before each thing they take or store. Costs at most one
   * look-up a key, 2 s and process, so it may be asked often.
   * @throws ApiError `unauthenticated` when the key has been revoked or has expired meanwhile.
   */
  async assertValid(): Promise<void> {
    if (!(await this.credential.isActive()))
      throw new ApiError('unauthenticated', 'the key has been revoked or has expired', {
        headers: { 'WWW-Authenticate': this.credential.challenge },
      });
  }

  /** A trainer key has no rank among the others; an admin may do everything. */
  mayActAs(role: Role): boolean {
    if (role === 'trainer') return this.role === 'trainer' || this.role === 'admin';
    return RANK[this.role] >= RANK[role];
  }

  /** The one entity that the scopes name, null when they name several or all. */
  get onlyEntity(): string | null {
    const [entity, ...others] = new Set(this.scopes.map((scope) => scope.split('/')[0]!));
    return entity === undefined || entity === '*' || others.length > 0 ? null : entity;
  }

  /** The entity of a project that is named without one: `onlyEntity`, else the user's name; null where that is not a valid entity name. */
  get ownEntity(): string | null {
    return this.onlyEntity ?? (isProjectId(`${this.userName}/x`) ? this.userName : null);
  }

  reaches(projectId: string): boolean {
    return this.scopes.some((scope) => covers(scope, projectId));
  }

  /** @throws ApiError `forbidden` when the project is outside the key's scopes. */
  assertReaches(projectId: string): void {
    if (!this.reaches(projectId))
      throw new ApiError('forbidden', `the key has no access to the project ${projectId}`);
  }
}

/**
 * The entity in whose share a key is: the one that its scopes name first, so that an admin of an entity can make no key that
 * gets a share of its own. A key of all entities is one by itself.
 */
function shareEntityOf({ id, scopes }: Pick<ApiKey, 'id' | 'scopes'>): string {
  return scopes.includes('*') ? `*${id}` : scopes[0]!.split('/')[0]!;
}

/** Whether a scope covers a project, or a narrower scope. */
export function covers(scope: string, inner: string): boolean {
  return (
    scope === '*' ||
    scope === inner ||
    (scope.endsWith('/*') && inner.startsWith(scope.slice(0, -1)))
  );
}

const SCOPE = new RegExp(`^(\\*|${PROJECT_PART}/(\\*|${PROJECT_PART}))$`);
export const isScope = (text: unknown): text is string =>
  typeof text === 'string' && SCOPE.test(text);

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- the way passport's types are extended
  namespace Express {
    interface User extends Caller {}
  }
}

import { isProjectId } from '../http/dto.js';
import { ApiError } from '../errors.js';
import type { Role } from './api-key.entity.js';
import { areWithin, scopeCovers, type Grant, mayAct, type Person } from './grants.js';

/** What the credential allows now, null when it is not valid any more; and the challenge of the scheme that was used. */
interface Credential {
  challenge: string;
  grants: () => Promise<readonly Grant[] | null>;
}

/** What a credential stands for: a key, a person, or both. */
export interface CredentialHolder {
  /** Of the key; of a person without one, or a token, an id of their own. */
  id: string;
  userName: string;
  /** Not empty. */
  grants: readonly Grant[];
  expiresAt: Date | null;
  /** What it came by; a `token` is one that an issuer in JWT_ISSUERS has signed. */
  by: 'key' | 'session' | 'personal key' | 'token';
  person: Person | null;
}

/** The sender of a request: its key or person, without the secret. */
export class Caller {
  readonly keyId: string;
  readonly userName: string;
  readonly grants: readonly Grant[];
  /** The highest role that the caller has anywhere. */
  readonly role: Role;
  /** Of all grants together. */
  readonly scopes: readonly string[];
  readonly expiresAt: Date | null;
  /** The person that acts, in a session or by a key of theirs; null for keys of services. */
  readonly userId: string | null;
  /** Whose share of the process it uses: `<entity>/<key>`, as of `Shares`. */
  readonly owner: string;

  constructor(
    readonly holder: CredentialHolder,
    private readonly credential: Credential,
    owner?: string,
  ) {
    const { id, userName, grants, expiresAt, person } = holder;
    this.keyId = id;
    this.userName = userName;
    this.grants = grants;
    this.role = grants.map(({ role }) => role).reduce((a, b) => (mayAct(a, b) ? a : b));
    this.scopes =
      grants.length === 1
        ? grants[0]!.scopes
        : [...new Set(grants.flatMap((grant) => grant.scopes))];
    this.expiresAt = expiresAt;
    this.userId = person?.id ?? null;
    this.owner = owner ?? `${shareEntity(id, this.scopes)}/${id}`;
  }

  isExpired(): boolean {
    return this.expiresAt !== null && this.expiresAt.getTime() <= Date.now();
  }

  /**
   * For requests that wait, stream or upload: to be asked before each thing they take or store. Costs at most one
   * look-up a key, 2 s and process, so it may be asked often.
   * @throws ApiError `unauthenticated` when the key has been revoked or has expired meanwhile, or the person may do less.
   */
  async assertValid(): Promise<void> {
    const grants = await this.credential.grants();
    if (grants === null || (grants !== this.grants && !areWithin(this.grants, grants)))
      throw new ApiError(
        'unauthenticated',
        this.userId === null
          ? 'the key has been revoked or has expired'
          : 'the key or the session has ended, or the person may do less than before',
        { headers: { 'WWW-Authenticate': this.credential.challenge } },
      );
  }

  /** The caller as far as it has the role: with the scopes in which it has. Null where it has it nowhere. */
  as(role: Role): Caller | null {
    const grants = this.grants.filter((grant) => mayAct(grant.role, role));
    if (grants.length === this.grants.length) return this;
    if (grants.length === 0) return null;
    return new Caller({ ...this.holder, grants }, this.credential, this.owner);
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
    return this.scopes.some((scope) => scopeCovers(scope, projectId));
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
function shareEntity(id: string, scopes: readonly string[]): string {
  return scopes.includes('*') ? `*${id}` : scopes[0]!.split('/')[0]!;
}

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- the way passport's types are extended
  namespace Express {
    interface User extends Caller {}
  }
}

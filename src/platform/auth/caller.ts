import { isProjectId } from '../http/dto.js';
import { ApiError } from '../errors.js';
import type { Role } from '../roles.js';
import { areWithin, scopeCovers, type Grant, mayAct, type Person } from './grants.js';
import type { RequestAdmission } from './limits/admission.js';

/**
 * The challenge of the scheme that was used, and the current grants. The grants are null once the credential is
 * invalid.
 */
interface Credential {
  challenge: string;
  grants: () => readonly Grant[] | null | Promise<readonly Grant[] | null>;
}

/** Owner of a credential: a key, a person, or a key of a person. */
export interface CredentialHolder {
  /** Id of the key. A person without a key, and a token, have an id of their own. */
  id: string;
  userName: string;
  grants: readonly Grant[];
  expiresAt: Date | null;
  /** Type of the credential. A `token` is signed by an issuer in JWT_ISSUERS. */
  by: 'key' | 'session' | 'personal key' | 'token';
  person: Person | null;
}

/** The sender of a request: its key or person, without the secret. */
export class Caller {
  readonly keyId: string;
  readonly userName: string;
  readonly grants: readonly Grant[];
  readonly role: Role;
  readonly scopes: readonly string[];
  readonly expiresAt: Date | null;
  /** Id of the person who acts, in a session or with a personal key. Null for service keys. */
  readonly userId: string | null;
  /**
   * The id by which limits count: of the person, a service key, or the subject of a workload. A person's new key or
   * session changes no limit.
   */
  readonly holderId: string;
  /** Owner of the caller's share of the process, in `Shares`: `<entity>/<holder>`. */
  readonly owner: string;
  /** The request of this caller, and the role in which it acts. Absent until a guard has admitted a request. */
  private request: { admission: RequestAdmission; role: Role } | undefined;

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
    this.holderId = this.userId ?? id;
    this.owner = owner ?? `${shareEntity(this.holderId, this.scopes)}/${this.holderId}`;
  }

  isExpired(): boolean {
    return this.expiresAt !== null && this.expiresAt.getTime() <= Date.now();
  }

  /**
   * Checks the credential again. Requests that wait, stream or upload call this before each item they take or store. It
   * costs at most one look-up per key and process in 2 s, so it may be called often.
   * @throws ApiError `unauthenticated` when the key was revoked or has expired, or the person's grants were reduced.
   */
  async assertValid(): Promise<void> {
    const found = this.credential.grants();
    const grants = found instanceof Promise ? await found : found;
    if (grants === null || (grants !== this.grants && !areWithin(this.grants, grants)))
      throw new ApiError(
        'unauthenticated',
        this.userId === null
          ? 'the key has been revoked or has expired'
          : 'the key or the session has ended, or the person may do less than before',
        { headers: { 'WWW-Authenticate': this.credential.challenge } },
      );
  }

  /** Returns the caller reduced to the scopes in which it has the role, or null when it has the role nowhere. */
  as(role: Role): Caller | null {
    const grants = this.grants.filter((grant) => mayAct(grant.role, role));
    if (grants.length === 0) return null;
    if (grants.length === this.grants.length && !this.request) return this;
    const acting = new Caller({ ...this.holder, grants }, this.credential, this.owner);
    if (this.request) acting.request = { ...this.request, role };
    return acting;
  }

  /** Returns a copy for one request that acts in this role. Projects that the request names are admitted by quotas. */
  forRequest(admission: RequestAdmission, role: Role): Caller {
    const copy = new Caller(this.holder, this.credential, this.owner);
    copy.request = { admission, role };
    return copy;
  }

  /** Projects for which the request counts: those that it has named so far, and the only one that the key reaches. */
  get countedProjects(): readonly string[] {
    if (this.request) return this.request.admission.projects;
    return this.onlyProject === null ? [] : [this.onlyProject];
  }

  /** The only entity that the scopes name. Null when they name several entities or all. */
  get onlyEntity(): string | null {
    const [entity, ...others] = new Set(this.scopes.map((scope) => scope.split('/')[0]!));
    return entity === undefined || entity === '*' || others.length > 0 ? null : entity;
  }

  /** The only project that the caller reaches. Null when the scopes reach several. */
  get onlyProject(): string | null {
    const [scope, ...others] = this.scopes;
    return others.length === 0 && isProjectId(scope) ? scope : null;
  }

  /**
   * The entity of a project that is named without one: `onlyEntity`, else the user's name. Null when that name is not a
   * valid entity name.
   */
  get ownEntity(): string | null {
    return this.onlyEntity ?? (isProjectId(`${this.userName}/x`) ? this.userName : null);
  }

  reaches(projectId: string): boolean {
    return this.scopes.some((scope) => scopeCovers(scope, projectId));
  }

  /**
   * Checks a project that the request names, and counts the request for it.
   * @throws ApiError `forbidden` when the project is outside the key's scopes, or the refusal of a quota.
   */
  assertReaches(projectId: string): void {
    if (!this.reaches(projectId))
      throw new ApiError('forbidden', `the key has no access to the project ${projectId}`);
    this.request?.admission.admitTo(projectId, this.request.role);
  }
}

/**
 * Returns the entity whose share the key uses: the entity of its first scope. An admin of an entity therefore cannot
 * make keys with a share of their own. A holder of all entities has its own share.
 */
function shareEntity(holderId: string, scopes: readonly string[]): string {
  return scopes.includes('*') ? `*${holderId}` : scopes[0]!.split('/')[0]!;
}

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- the way passport's types are extended
  namespace Express {
    interface User extends Caller {}
  }
}

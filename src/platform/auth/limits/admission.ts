import { Injectable, SetMetadata } from '@nestjs/common';
import type { Role } from '../../roles.js';

/** The caller of a request, as far as quotas know it. */
interface Sender {
  /** The owner, as defined by `Shares`. */
  owner: string;
  onlyProject: string | null;
}

/** Refuses requests that are over a quota. */
export interface QuotaChecks {
  /**
   * Counts a request for the entity of its caller, before the body is read. Returns a promise only when the quotas of
   * the entity must be read first.
   * @throws ApiError `rate_limited`
   */
  admit(sender: Sender): Promise<void> | undefined;
  /**
   * Checks a project that a request names. `isNew` is true when the request has not named it before.
   * @throws ApiError `rate_limited`, `quota_exceeded`
   */
  admitTo(projectId: string, kind: { isWrite: boolean; isNew: boolean }): void;
  /** Counts a request that `admitTo` refused. */
  noteRefusal(projectId: string): void;
}

/** The feature that stores quotas registers its checks here, because guards of all features ask for them. */
@Injectable()
export class Admissions {
  checks: QuotaChecks | undefined;
}

export const BEYOND_QUOTAS = 'beyond quotas';

/**
 * Marks a write that a full quota of bytes does not refuse. It frees space, or ends work that is under way and stores
 * little.
 */
export const BeyondQuotas = () => SetMetadata(BEYOND_QUOTAS, true);

/** The projects that one request names. Each is admitted when it is named. */
export class RequestAdmission {
  private others: Set<string> | undefined;
  private isRefused = false;
  /** The last project that was admitted. A body may name it in each of its items. */
  private last: { projectId: string; isWrite: boolean } | undefined;

  constructor(
    private readonly checks: QuotaChecks | undefined,
    private readonly isBeyondQuotas: boolean,
    /** A project for which the request is counted already. */
    private first: string | null,
  ) {}

  get projects(): readonly string[] {
    return this.first === null ? [] : [this.first, ...(this.others ?? [])];
  }

  admitTo(projectId: string, role: Role): void {
    const isWrite = role !== 'reader' && !this.isBeyondQuotas;
    if (this.last?.projectId === projectId && (this.last.isWrite || !isWrite)) return;
    const isNew = this.add(projectId);
    try {
      this.checks?.admitTo(projectId, { isWrite, isNew });
    } catch (error) {
      if (!this.isRefused) this.checks!.noteRefusal(projectId);
      this.isRefused = true;
      throw error;
    }
    this.last = { projectId, isWrite };
  }

  /** Returns true when the request has not named the project before. */
  private add(projectId: string): boolean {
    if (projectId === this.first || this.others?.has(projectId)) return false;
    if (this.first === null) this.first = projectId;
    else (this.others ??= new Set()).add(projectId);
    return true;
  }
}

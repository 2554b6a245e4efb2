import { ApiProperty } from '@nestjs/swagger';
import { WIRE_DIALECTS } from '../config/config.js';

export class HealthDto {
  status!: 'ok';
}

/** The readiness of the process for requests. */
export class ReadinessDto {
  database!: 'reachable' | 'unreachable';
  /**
   * `newer`: a newer build has migrated the schema. This build continues, since migrations expand before they contract.
   */
  migrations!: 'at_head' | 'newer' | 'pending' | 'unknown';
  /**
   * `refused`: the disk is nearly full, or the database is read-only. Reads are still answered. `locked`: another
   * session of the database has locked the table of calls.
   */
  @ApiProperty({ enum: ['taken', 'refused', 'locked', 'unknown'] })
  writes!: 'taken' | 'refused' | 'locked' | 'unknown';
  draining!: boolean;
  /**
   * Rows of an older build that are still to be processed in the background, by the value that is extracted. Until then
   * the value counts as absent.
   */
  @ApiProperty({ type: 'object', additionalProperties: { type: 'integer' }, example: { usage: 0 } })
  unfilled_rows?: Record<string, number>;
  /**
   * Nodes of a cluster that cannot be reached. Null when the coordinator did not answer in time. Requests for their
   * projects get 503.
   */
  unreachable_nodes?: string[] | null;
  /** For each sign-in provider, true when it answered last time. Null when it was not tried yet. */
  @ApiProperty({ type: 'object', additionalProperties: { type: 'boolean', nullable: true } })
  sign_in?: Record<string, boolean | null>;
}

/** A provider that people sign in with. */
export class SignInDto {
  name!: string;
  /** Accepted by `/members/set` as `issuer`. */
  issuer!: string;
  /** URL at which a browser begins the sign-in. `?to=` names the page of the console to return to. */
  url!: string;
}

export class ServerInfoDto {
  /** The weave client for Python refuses to start when its version is older. */
  @ApiProperty({ example: '0.0.1' }) min_required_weave_python_version!: string;
  /** Version of the service in the form that SDKs read: major.minor.patch. */
  @ApiProperty({ example: '0.1.0' }) trace_server_version!: string;
  /** Commit of the build, with `-dirty` appended when files were changed; otherwise `unknown`. */
  @ApiProperty({ example: '721c2bcf39f4' }) commit!: string;
  /** The newest migration that the service knows. */
  @ApiProperty({ example: 'Foundation1764000000000' }) schema!: string;
  @ApiProperty({ enum: WIRE_DIALECTS }) wire_dialect!: (typeof WIRE_DIALECTS)[number];
  /** Rules for OTLP spans that are not stored: `OTLP_FOLD`. */
  @ApiProperty({ example: 'codex*' }) otlp_fold!: string;
  /** Providers that people sign in with. */
  @ApiProperty({ type: [SignInDto] }) sign_in!: SignInDto[];
  /** True when the console accepts keys too. */
  key_sign_in!: boolean;
}

import { ApiProperty } from '@nestjs/swagger';
import { WIRE_DIALECTS } from '../config/config.js';

export class HealthDto {
  status!: 'ok';
}

/** Whether the process should be sent requests. */
export class ReadinessDto {
  database!: 'reachable' | 'unreachable';
  /** `newer`: a newer build has migrated, and migrations expand before they contract, so this one goes on. */
  migrations!: 'at_head' | 'newer' | 'pending' | 'unknown';
  /** `refused`: its disk is nearly full, or it is read-only. Reads are answered all the same. */
  @ApiProperty({ enum: ['taken', 'refused', 'unknown'] })
  writes!: 'taken' | 'refused' | 'unknown';
  draining!: boolean;
  /** Rows of an older build that are still to be read in the background, by what is read from them: until then it counts as absent. */
  @ApiProperty({ type: 'object', additionalProperties: { type: 'integer' }, example: { usage: 0 } })
  unfilled_rows?: Record<string, number>;
  /** Of a cluster, the nodes that cannot be reached; null when the coordinator could not tell in time. Their projects are answered 503. */
  unreachable_nodes?: string[] | null;
  /** Of each provider that people sign in with, whether it answered when it was last asked; null when it was not yet. */
  @ApiProperty({ type: 'object', additionalProperties: { type: 'boolean', nullable: true } })
  sign_in?: Record<string, boolean | null>;
}

/** A provider that people sign in with. */
export class SignInDto {
  name!: string;
  /** As `/members/set` takes it. */
  issuer!: string;
  /** Where a browser begins; `?to=` names the page of the console to come back to. */
  url!: string;
}

export class ServerInfoDto {
  /** The weave client for Python refuses to start when it is older. */
  @ApiProperty({ example: '0.0.1' }) min_required_weave_python_version!: string;
  /** The version of the service, as SDKs read it: major.minor.patch. */
  @ApiProperty({ example: '0.1.0' }) trace_server_version!: string;
  /** The commit that the service was built of, with `-dirty` behind it when files were changed; else `unknown`. */
  @ApiProperty({ example: '721c2bcf39f4' }) commit!: string;
  /** The newest migration that the service knows. */
  @ApiProperty({ example: 'Foundation1764000000000' }) schema!: string;
  @ApiProperty({ enum: WIRE_DIALECTS }) wire_dialect!: (typeof WIRE_DIALECTS)[number];
  /** Rules by which spans of OTLP are not stored: `OTLP_FOLD`. */
  @ApiProperty({ example: 'codex*' }) otlp_fold!: string;
  /** Providers that people sign in with. */
  @ApiProperty({ type: [SignInDto] }) sign_in!: SignInDto[];
  /** Whether the console takes keys too. */
  key_sign_in!: boolean;
}

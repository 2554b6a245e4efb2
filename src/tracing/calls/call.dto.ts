import { ApiExtraModels, ApiProperty, ApiPropertyOptional, getSchemaPath } from '@nestjs/swagger';
import { CallCostDto } from '../costs/costs.dto.js';
import { ANY_JSON } from '../../platform/http/dto.js';
import { type CallSource, SOURCES } from '../conventions/call-source.js';

/**
 * A call. With `columns`, the optional members that it names are present. Without it, all optional members are present
 * whose description states no condition.
 */
@ApiExtraModels(CallCostDto)
export class CallDto {
  id!: string;
  project_id!: string;
  trace_id!: string;
  op_name!: string;
  @ApiProperty({ type: 'string', format: 'date-time' }) started_at!: string;
  display_name?: string | null;
  parent_id?: string | null;
  thread_id?: string | null;
  turn_id?: string | null;
  /** Null while the call runs. */
  @ApiPropertyOptional({ type: 'string', format: 'date-time', nullable: true })
  ended_at?: string | null;
  exception?: string | null;
  svc_user_id?: string | null;
  /** Present with `include_usernames`. */
  svc_username?: string | null;
  svc_run_id?: string | null;
  @ApiPropertyOptional({ type: 'integer', nullable: true }) svc_run_step?: number | null;
  @ApiPropertyOptional({ type: 'integer', nullable: true }) svc_run_step_end?: number | null;
  /** Always null: deleted calls are not returned. */
  @ApiPropertyOptional({ type: 'string', format: 'date-time', nullable: true })
  deleted_at?: string | null;
  /** The operation of an agent's span, such as `chat` or `execute_tool`. Present only if `columns` names it. */
  operation?: string | null;
  /**
   * The part of the work that made the call: its own source, else that of the call above it. Present only if `columns`
   * names it.
   */
  @ApiPropertyOptional({ type: 'string', enum: [...SOURCES] }) source?: CallSource;
  /** Free-form, as sent. `otel_span` is the span from which the call was made. */
  @ApiPropertyOptional({ type: 'object', additionalProperties: true })
  attributes?: object;
  /** Free-form, as sent. */
  @ApiPropertyOptional({ type: 'object', additionalProperties: true })
  inputs?: object;
  /** Any JSON value, as sent; null while the call runs. */
  @ApiPropertyOptional(ANY_JSON)
  output?: unknown;
  /** Free-form, as sent, together with values that the service derives. */
  @ApiProperty({
    type: 'object',
    selfRequired: false,
    required: ['svc'],
    properties: {
      svc: {
        type: 'object',
        required: ['status', 'latency_ms', 'trace_name'],
        description:
          'What the service says of the call. Members of other names are the ones that a client sent there.',
        properties: {
          status: { type: 'string', enum: ['success', 'error', 'descendant_error', 'running'] },
          latency_ms: {
            type: 'number',
            nullable: true,
            description: 'From the start to the end; null while the call runs.',
          },
          trace_name: { type: 'string', description: 'The display name, else the name of the op.' },
          costs: {
            type: 'object',
            description: 'With `include_costs`: what each model cost, by its name.',
            additionalProperties: { $ref: getSchemaPath(CallCostDto) },
          },
          trace_costs: {
            type: 'object',
            description:
              'With `include_trace_totals`: what each model cost in the whole trace of a root that tells no usage itself.',
            additionalProperties: { $ref: getSchemaPath(CallCostDto) },
          },
          trace_user: {
            type: 'string',
            nullable: true,
            description: 'With `include_trace_totals`: the user whom attributes of the trace name.',
          },
          feedback: {
            type: 'array',
            description:
              'With `include_feedback`: as `/feedback/query` answers it, the oldest first.',
            items: { $ref: getSchemaPath('FeedbackDto') },
          },
        },
        additionalProperties: true,
      },
    },
    additionalProperties: true,
  })
  summary?: object;
  /** Present with `include_storage_size`. */
  @ApiPropertyOptional({ type: 'integer' })
  storage_size_bytes?: number;
  /** Present with `include_total_storage_size`. Null unless the call is a root. */
  @ApiPropertyOptional({ type: 'integer', nullable: true })
  total_storage_size_bytes?: number | null;
}

export class CallAnswerDto {
  /** Null if no call has this id. */
  call!: CallDto | null;
}

export class CallsAnswerDto {
  calls!: CallDto[];
}

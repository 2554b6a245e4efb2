import { ApiProperty } from '@nestjs/swagger';
import { IsDateTime, IsJsonObject } from '../../../platform/http/dto.js';
import { type SpanValueType, VALUE_TYPES } from './agents.dto.js';

export class AgentSumsDto {
  project_id!: string;
  agent_name!: string;
  /** Runs of the agent: spans of the operation `invoke_agent`. */
  invocation_count!: number;
  span_count!: number;
  /** Input tokens of the agent's spans, and of spans below them that name no agent. */
  total_input_tokens!: number;
  total_output_tokens!: number;
  /** Duration of the agent's runs. */
  total_duration_ms!: number;
  error_count!: number;
  @IsDateTime() first_seen!: string;
  @IsDateTime() last_seen!: string;
  @ApiProperty({ type: 'number', nullable: true }) total_cost_usd!: number | null;
}

export class AgentVersionSumsDto extends AgentSumsDto {
  /** Empty when spans name no version. */
  agent_version!: string;
}

export class AgentsFoundDto {
  agents!: AgentSumsDto[];
  /** Number of agents on all pages. */
  total_count!: number;
}

export class AgentVersionsFoundDto {
  versions!: AgentVersionSumsDto[];
  /** Number of versions on all pages. */
  total_count!: number;
}

const Texts = () => ApiProperty({ type: 'object', additionalProperties: { type: 'string' } });
const Numbers = () => ApiProperty({ type: 'object', additionalProperties: { type: 'number' } });

const VALUE = {
  nullable: true,
  oneOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }],
};
const STATUS_CODES = ['UNSET', 'OK', 'ERROR'];

/** A field is null, or an empty list, when the span has no value for it. */
const SPAN = {
  type: 'object',
  required: ['trace_id', 'span_id', 'span_name', 'started_at', 'status_code'],
  properties: {
    trace_id: { type: 'string' },
    span_id: { type: 'string' },
    span_name: { type: 'string' },
    operation_name: { type: 'string', nullable: true },
    agent_name: { type: 'string', nullable: true },
    conversation_id: { type: 'string', nullable: true },
    started_at: { type: 'string', format: 'date-time' },
    status_code: { type: 'string', enum: STATUS_CODES },
  },
  additionalProperties: true,
};

export class SpansFoundDto {
  /** The spans of a request without `group_by`. */
  @ApiProperty({ type: 'array', items: SPAN }) spans!: object[];
  /**
   * The groups of a request with `group_by`: `group_keys`, sums, names, `metrics`, and the first and last message of
   * conversations.
   */
  @ApiProperty({
    type: 'array',
    items: { type: 'object', required: ['group_keys', 'span_count'], additionalProperties: true },
  })
  groups!: object[];
  /** Number of spans or groups on all pages. */
  total_count!: number;
}

export class StatsColumnDto {
  name!: string;
  @ApiProperty({ enum: ['time', 'group', 'metric'] }) role!: string;
  metric?: string | null;
  aggregation?: string | null;
  @ApiProperty({ enum: VALUE_TYPES }) value_type!: SpanValueType;
}

export class SpanStatsAnswerDto {
  @IsDateTime() start!: string;
  @IsDateTime() end!: string;
  granularity!: number;
  timezone!: string;
  @ApiProperty({ enum: ['time'] }) bucket_type!: string;
  columns!: StatsColumnDto[];
  /** Values keyed by the names of the columns. Buckets without spans are left out. */
  @ApiProperty({ type: 'array', items: { type: 'object', additionalProperties: VALUE } })
  rows!: object[];
}

export class CustomAttributeDto {
  source!: string;
  key!: string;
  @ApiProperty({ enum: ['string', 'int', 'float', 'bool'] }) value_type!: string;
  span_count!: number;
}

export class CustomAttributesFoundDto {
  attributes!: CustomAttributeDto[];
  limit!: number;
  offset!: number;
  has_more!: boolean;
}

/** Feedback as a chat shows it. */
export class AgentFeedbackDto {
  id!: string;
  @IsDateTime() created_at!: string;
  svc_ref!: string;
  feedback_type!: string;
  /** Free-form, as it was sent. */
  @IsJsonObject() payload!: object;
  creator!: string | null;
  annotation_ref!: string | null;
  runnable_ref!: string | null;
  call_ref!: string | null;
  trigger_ref!: string | null;
  svc_user_id!: string;
  scorer_tags!: string[];
  @Texts() scorer_tag_reasons!: Record<string, string>;
  @Numbers() scorer_tag_confidences!: Record<string, number>;
  @Numbers() scorer_ratings!: Record<string, number>;
  @Texts() scorer_rating_reasons!: Record<string, string>;
  @Numbers() scorer_rating_confidences!: Record<string, number>;
}

export class UserMessageDto {
  text!: string;
  content_refs!: string[];
}

export class AssistantMessageDto {
  text!: string;
  model!: string | null;
  reasoning_content!: string | null;
  content_refs!: string[];
  input_tokens!: number | null;
  output_tokens!: number | null;
  reasoning_tokens!: number | null;
  input_cost_usd!: number | null;
  output_cost_usd!: number | null;
  total_cost_usd!: number | null;
  duration_ms!: number | null;
  @ApiProperty({ enum: STATUS_CODES }) status!: string;
}

export class ToolCallDto {
  tool_name!: string | null;
  tool_arguments!: string | null;
  tool_result!: string | null;
  duration_ms!: number | null;
  content_refs!: string[];
  @ApiProperty({ enum: STATUS_CODES }) status!: string;
}

export class AgentStartDto {
  model!: string | null;
  system_instructions!: string | null;
  tool_definitions!: string | null;
  @ApiProperty({ enum: STATUS_CODES }) status!: string;
}

export class ContextCompactedDto {
  compaction_summary!: string | null;
  compaction_items_before!: number | null;
  compaction_items_after!: number | null;
}

const MESSAGE_TYPES = [
  'user_message',
  'assistant_message',
  'tool_call',
  'agent_start',
  'context_compacted',
];

/** The member named by `type` has the content; the members of other types are null. */
export class AgentMessageDto {
  @ApiProperty({ enum: MESSAGE_TYPES }) type!: string;
  span_id!: string;
  agent_name!: string | null;
  agent_version!: string | null;
  @IsDateTime() started_at!: string;
  @ApiProperty({ enum: STATUS_CODES }) status_code!: string;
  status_message!: string | null;
  error_type!: string | null;
  feedback!: AgentFeedbackDto[] | null;
  user_message!: UserMessageDto | null;
  assistant_message!: AssistantMessageDto | null;
  tool_call!: ToolCallDto | null;
  agent_start!: AgentStartDto | null;
  /** Always null: no convention defines it. */
  @ApiProperty({ type: 'string', nullable: true }) agent_handoff!: null;
  context_compacted!: ContextCompactedDto | null;
}

/** A trace as a chat. */
export class AgentTurnDto {
  trace_id!: string;
  root_span_name!: string | null;
  agent_name!: string | null;
  agent_version!: string | null;
  provider!: string | null;
  @ApiProperty({ enum: STATUS_CODES }) status_code!: string;
  @IsDateTime() started_at!: string;
  @ApiProperty({ type: 'string', format: 'date-time', nullable: true }) ended_at!: string | null;
  total_input_tokens!: number;
  total_output_tokens!: number;
  total_reasoning_tokens!: number;
  total_cache_creation_input_tokens!: number;
  total_cache_read_input_tokens!: number;
  /** Duration of the root. */
  total_duration_ms!: number | null;
  total_cost_usd!: number | null;
  svc_user_id!: string | null;
  feedback!: AgentFeedbackDto[] | null;
  messages!: AgentMessageDto[];
}

export class ConversationDto {
  conversation_id!: string;
  /** The oldest first. */
  turns!: AgentTurnDto[];
  total_turns!: number;
  /** True when older turns exist. */
  has_more!: boolean;
  limit!: number;
  offset!: number;
  total_cost_usd!: number | null;
  feedback!: AgentFeedbackDto[] | null;
}

export class ConversationSpanDto {
  span_id!: string;
  trace_id!: string;
  operation_name!: string;
  @ApiProperty({ enum: STATUS_CODES }) status!: string;
  duration_ms!: number;
}

export class RatingDto {
  name!: string;
  value!: number;
  reason!: string | null;
  confidence!: number | null;
}

export class SpansFeedbackDto {
  /** Null for feedback on the whole conversation. */
  trace_id!: string | null;
  feedback_type!: string;
  tags!: string[];
  ratings!: RatingDto[];
}

export class ConversationOverviewDto {
  conversation_id!: string;
  spans!: ConversationSpanDto[];
  spans_feedback!: SpansFeedbackDto[];
}

export class ConversationsDto {
  conversations!: ConversationOverviewDto[];
}

export class MatchedMessageDto {
  span_id!: string;
  trace_id!: string;
  role!: string;
  content_preview!: string;
  /** Equal for equal messages. */
  content_digest!: string;
  @IsDateTime() started_at!: string;
}

export class FoundConversationDto {
  conversation_id!: string;
  conversation_name!: string;
  agent_name!: string;
  @IsDateTime() last_activity!: string;
  matched_messages!: MatchedMessageDto[];
}

export class AgentSearchAnswerDto {
  results!: FoundConversationDto[];
  /** Number of conversations in this answer. */
  total_conversations!: number;
}

import styles from './controls.module.css';

export type CallKind =
  | 'llm'
  | 'tool'
  | 'agent'
  | 'retrieval'
  | 'embedding'
  | 'chain'
  | 'guardrail'
  | 'evaluator'
  | 'reranker'
  | 'event';

const KIND_BY_OPERATION: Record<string, CallKind> = {
  chat: 'llm',
  text_completion: 'llm',
  generate_content: 'llm',
  execute_tool: 'tool',
  invoke_agent: 'agent',
  create_agent: 'agent',
  invoke_workflow: 'agent',
  retrieval: 'retrieval',
  embeddings: 'embedding',
  // Langfuse's types of observations for which OpenTelemetry has no operation
  chain: 'chain',
  guardrail: 'guardrail',
  evaluator: 'evaluator',
  reranker: 'reranker',
  event: 'event',
};

/** The kind by the operation of a span. Without one, a call with tokens and no calls below it is a model's. */
export function kindOf(operation: string | null, isModel: boolean): CallKind | undefined {
  if (operation && Object.hasOwn(KIND_BY_OPERATION, operation)) return KIND_BY_OPERATION[operation];
  return isModel ? 'llm' : undefined;
}

/** The title and the SVG path (14 by 14) of each kind. */
const LOOK: Record<CallKind, [title: string, lines: string]> = {
  llm: ['Model', 'M7 1.5 8.4 5.6 12.5 7 8.4 8.4 7 12.5 5.6 8.4 1.5 7 5.6 5.6Z'],
  tool: ['Tool', 'M8.5 2a3 3 0 0 0-2.6 4.4L2 10.3 3.7 12l3.9-3.9A3 3 0 0 0 12 5.5L10 7 7 4l1.5-2Z'],
  agent: ['Agent', 'M3 5h8v6H3zM7 5V2.5M5.2 7.5v1M8.8 7.5v1'],
  retrieval: ['Retrieval', 'M6 10a4 4 0 1 1 0-8 4 4 0 0 1 0 8ZM9 9l3.5 3.5'],
  embedding: ['Embedding', 'M2.5 2.5h3v3h-3zM8.5 2.5h3v3h-3zM2.5 8.5h3v3h-3zM8.5 8.5h3v3h-3z'],
  chain: ['Chain', 'M6 9.5H4.5a2.5 2.5 0 0 1 0-5H6M8 4.5h1.5a2.5 2.5 0 0 1 0 5H8M5 7h4'],
  guardrail: ['Guardrail', 'M7 1.5 11.5 3v4c0 2.5-2 4.5-4.5 5.5C4.5 11.5 2.5 9.5 2.5 7V3Z'],
  evaluator: ['Evaluator', 'M2.5 7.5 5.5 10.5 11.5 3.5'],
  reranker: ['Reranker', 'M4 2v10M2 10l2 2 2-2M10 12V2M8 4l2-2 2 2'],
  event: ['Event', 'M8 1.5 3 8h3.5L6 12.5 11 6H7.5Z'],
};

/** Shows the kind of a call by shape and colour; nothing for an unknown kind. */
export function KindIcon({ kind }: { kind: CallKind | undefined }) {
  if (!kind) return null;
  const [title, lines] = LOOK[kind];
  return (
    <span className={styles['kind']} data-kind={kind} title={title}>
      <svg viewBox="0 0 14 14" width="14" height="14" aria-hidden="true">
        <path d={lines} />
      </svg>
      <span className="visually-hidden">{title}</span>
    </span>
  );
}

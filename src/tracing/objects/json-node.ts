import { elementSpans, memberSpans, type Span } from '../../platform/json/json-text.js';

/** A value by its JSON text, entered step by step. What a step finds is kept for later paths. */
export class JsonNode {
  private elements: Span[] | undefined;
  private members: Map<string, Span> | undefined;
  private readonly entered = new Map<string, JsonNode>();

  constructor(readonly text: string) {}

  member(key: string): JsonNode | undefined {
    if (!this.text.startsWith('{')) return undefined;
    this.members ??= memberSpans(this.text, 0);
    return this.enter(key, this.members.get(key));
  }

  element(index: number): JsonNode | undefined {
    if (!this.text.startsWith('[')) return undefined;
    this.elements ??= elementSpans(this.text, 0);
    return this.enter(String(index), this.elements[index]);
  }

  private enter(step: string, span: Span | undefined): JsonNode | undefined {
    if (!span) return undefined;
    let node = this.entered.get(step);
    if (!node) this.entered.set(step, (node = new JsonNode(this.text.slice(...span))));
    return node;
  }
}

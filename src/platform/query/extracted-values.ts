import { extractedKind, jsonAtAll, type JsonColumn, type Operand } from './columns.js';
import { computedOnce } from './plans.js';
import { identifier, join, sql, type Sql } from './sql.js';

/**
 * Large values of a query with many of them. Each is extracted from a row once for all conditions that use it. Values
 * of one document are extracted together.
 */
export class ExtractedValues {
  private readonly operands = new Map<string, Operand>();
  private readonly values: Sql[] = [];
  private readonly documents = new Map<Sql, { column: JsonColumn; paths: (readonly string[])[] }>();

  constructor(private readonly bytes: number) {}

  add(name: string, operand: Operand): Operand {
    let found = this.operands.get(name);
    if (!found) {
      found = operand.at ? this.inDocument(operand, operand.at) : this.alone(operand);
      this.operands.set(name, found);
    }
    return found;
  }

  private alone({ type, within }: Operand): Operand {
    const as = identifier(`v${this.values.length}`);
    this.values.push(sql`${within!(this.bytes)} AS ${as}`);
    return { type, sql: sql`taken.${as}` };
  }

  private inDocument({ type }: Operand, at: NonNullable<Operand['at']>): Operand {
    const { column, path } = at;
    const document = this.documents.get(column.sql) ?? { column, paths: [] };
    this.documents.set(column.sql, document);
    const place = document.paths.push(path);
    const as = identifier(`d${[...this.documents.keys()].indexOf(column.sql)}`);
    const text = sql`taken.${as}[${place}::int]`;
    return { type, sql: text, kind: () => extractedKind(at, text) };
  }

  around(condition: Sql): Sql {
    const documents = Array.from(
      this.documents.values(),
      ({ column, paths }, i) =>
        sql`${jsonAtAll(column, paths, this.bytes)} AS ${identifier(`d${i}`)}`,
    );
    const values = [...this.values, ...documents];
    return sql`(SELECT ${condition} FROM ${computedOnce(sql`SELECT ${join(values)}`, 'taken')})`;
  }
}

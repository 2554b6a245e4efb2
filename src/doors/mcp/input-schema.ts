import { DECORATORS } from '@nestjs/swagger';
import { type ArgumentSchema, MAX_PAGE, type Tool } from './tool.js';

/** Replaces parts of the schema of arguments that several tools have. */
const COMMON: Record<string, ArgumentSchema> = {
  project_id: { description: '<entity>/<project>' },
  limit: { type: 'integer', minimum: 1, maximum: MAX_PAGE },
  offset: { type: 'integer' },
  after: { description: 'next_after of the page before' },
};

/** Returns the schema of the arguments that a tool shows. It follows from the DTO. */
export function inputSchema({ dto, shown, described }: Tool) {
  const fields = shown.map((name): [string, Field] => [name, fieldOf(dto, name)]);
  const others: Record<string, ArgumentSchema> = { ...COMMON, ...described };
  return {
    type: 'object' as const,
    properties: Object.fromEntries(
      fields.map(([name, field]) => [name, { ...schemaOf(field), ...others[name] }]),
    ),
    required: fields.flatMap(([name, { required }]) => (required ? [name] : [])),
  };
}

/** The metadata of `@nestjs/swagger` for a field of a DTO. */
interface Field extends Omit<ArgumentSchema, 'type'> {
  /** A name, a class, a list with a class, or a function that returns one of them. */
  type?: unknown;
  isArray?: boolean;
  required?: boolean;
}

/** The static method that the plugin of `@nestjs/swagger` adds to a DTO. */
const FACTORY = '_OPENAPI_METADATA_FACTORY';
type Described = { [FACTORY]?: () => Record<string, Field> };

/** Decorators win over types and comments (`src/metadata.ts`), as in openapi.json. */
function fieldOf(dto: Function, name: string): Field {
  let field: Field = Reflect.getMetadata(DECORATORS.API_MODEL_PROPERTIES, dto.prototype, name);
  for (let of = dto; of.prototype; of = Object.getPrototypeOf(of))
    field = { ...(of as Described)[FACTORY]?.()[name], ...field };
  return field;
}

const TYPES = new Map<unknown, string>([
  [String, 'string'],
  [Number, 'number'],
  [Boolean, 'boolean'],
]);

function schemaOf({ type, isArray, ...field }: Field): ArgumentSchema {
  const declared: unknown = typeof type === 'function' ? type() : type;
  const [one] = [declared].flat();
  const name = typeof one === 'string' ? one : (TYPES.get(one) ?? 'object');
  const { enum: values, items = { type: name }, minimum, maximum, maxItems } = field;
  const isList = name === 'array' || isArray || Array.isArray(declared);
  if (!isList) return { type: name, enum: values, minimum, maximum };
  // JSON Schema has no `nullable`, so elements without a type of their own may be anything.
  return { type: 'array', items: items.type ? items : {}, maxItems };
}

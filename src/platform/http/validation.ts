import { getMetadataStorage, IS_OPTIONAL, type ValidationArguments } from 'class-validator';
import { defaultMetadataStorage } from 'class-transformer/cjs/storage.js';
import { assertNone, type Violation } from '../errors.js';
import { isObject } from '../json/json-object.js';
import { weaveSpelling, wire } from './wire-names.js';

/** A DTO class: its class-validator decorators are the only source of the rules. */
export type Dto<T = object> = new () => T;

/** Most refused fields that are listed. */
const MAX_VIOLATIONS = 20;

/** Name of the class-validator rule that marks a field as the project of the request. */
export const PROJECT_RULE = 'isProjectId';

/** Returns the violation of a value: the message, and the path below the property. */
type Rule = (value: unknown, object: object) => Violation | undefined;

interface Property {
  name: string;
  /** The name in the other dialect, which is read when this one is absent. */
  other: string | undefined;
  isProject: boolean;
  /** Set by `@IsOptional()`: null and undefined break no rule. */
  isOptional: boolean;
  /** Conditions of `@ValidateIf()`, under which the rules apply. */
  conditions: ((object: object, value: unknown) => boolean)[];
  rules: Rule[];
  nested: { rules: Rules; each: boolean } | undefined;
}

type Rules = readonly Property[];

interface Options {
  /** Refuses members that a DTO does not have. */
  isStrict?: boolean;
}

/** The result of a check: the refused fields, and the projects named in fields marked `@IsProjectId()`. */
export interface ValidationResult {
  violations: Violation[];
  projects: string[];
}

/**
 * Runs the class-validator rules of a DTO on a parsed body. It makes no instance, copies and drops nothing, and reads
 * only own keys, so free-form JSON keeps every key. A name in the other dialect is copied to the configured one. The
 * decorators are read once per class and compiled to closures, because class-validator walks its metadata again on each
 * call: `bench/validation.mjs` prints both times. Each property reports the first rule that it breaks.
 */
export function validate(
  dto: Dto,
  body: unknown,
  path = '',
  options: Options = {},
): ValidationResult {
  const seen = { violations: [], projects: [], ...options };
  check(compiledRules(dto), body, path, seen);
  return seen;
}

/**
 * Returns the projects that a valid body of the DTO names.
 * @throws ApiError `invalid_request`
 */
export function assertValid(dto: Dto, body: unknown, path = '', options?: Options): string[] {
  const { violations, projects } = validate(dto, body, path, options);
  assertNone(violations);
  return projects;
}

type ValidationState = ValidationResult & Options;

function check(rules: Rules, value: unknown, path: string, seen: ValidationState): void {
  if (!isObject(value)) {
    seen.violations.push({ path, message: 'must be an object' });
    return;
  }
  for (const property of rules) {
    if (seen.violations.length >= MAX_VIOLATIONS) return;
    checkProperty(property, value, path, seen);
  }
  if (seen.isStrict) checkNames(rules, value, path, seen);
}

function checkNames(
  rules: Rules,
  value: object,
  path: string,
  { violations }: ValidationState,
): void {
  for (const name of Object.keys(value)) {
    if (violations.length >= MAX_VIOLATIONS) return;
    if (!rules.some((property) => property.name === name || property.other === name))
      violations.push({ path: joinPath(path, name.slice(0, 64)), message: 'is unknown' });
  }
}

function checkProperty(
  property: Property,
  object: Record<string, unknown>,
  parent: string,
  seen: ValidationState,
): void {
  const { name, isProject, isOptional, conditions, rules, nested } = property;
  const value = valueOf(property, object);
  if (isOptional && (value === undefined || value === null)) return;
  for (const applies of conditions) if (!applies(object, value)) return;
  if (value === undefined) {
    seen.violations.push({ path: joinPath(parent, shownName(property)), message: 'is required' });
    return;
  }
  for (const rule of rules) {
    const violation = rule(value, object);
    if (violation) {
      const { path, message } = violation;
      seen.violations.push({ path: joinPath(parent, shownName(property)) + path, message });
      return;
    }
  }
  if (isProject) seen.projects.push(value as string);
  if (nested) checkNested(nested, value, joinPath(parent, name), seen);
}

/** Returns the name of a field as the client of the request spells it. */
const shownName = ({ name, other }: Property): string =>
  other !== undefined && wire().scheme === 'weave' ? other : name;

/** Checks for presence first, because most members are absent. */
function ownValue(object: Record<string, unknown>, name: string): unknown {
  const found = object[name];
  return found === undefined || Object.hasOwn(object, name) ? found : undefined;
}

/**
 * Returns the value of a member. A value under the other dialect's name is also stored under the name that handlers
 * read.
 */
function valueOf(property: Property, object: Record<string, unknown>): unknown {
  const { name, other } = property;
  if (other === undefined) return ownValue(object, name);
  const first = shownName(property);
  let value = ownValue(object, first);
  if (value === undefined) value = ownValue(object, first === name ? other : name);
  if (value !== undefined) object[name] = value;
  return value;
}

const joinPath = (parent: string, name: string) => (parent ? `${parent}.${name}` : name);

function checkNested(
  { rules, each }: NonNullable<Property['nested']>,
  value: unknown,
  path: string,
  seen: ValidationState,
): void {
  if (!each) check(rules, value, path, seen);
  else if (!Array.isArray(value)) seen.violations.push({ path, message: 'must be an array' });
  else
    for (let i = 0; i < value.length && seen.violations.length < MAX_VIOLATIONS; i++)
      check(rules, value[i], `${path}[${i}]`, seen);
}

/**
 * Reads the rules of a DTO and of its nested DTOs.
 * @throws Error that explains how to fix a property without a rule, or a rule that cannot run.
 */
export function assertRules(dto: Dto): void {
  compiledRules(dto);
}

/** Returns true when the rules require a project, in a field marked `@IsProjectId()`. */
export function namesProject(dto: Dto): boolean {
  return isNaming(compiledRules(dto));
}

const isNaming = (rules: Rules): boolean =>
  rules.some(
    ({ isProject, isOptional, conditions, nested }) =>
      !isOptional &&
      conditions.length === 0 &&
      (isProject || (nested && !nested.each && isNaming(nested.rules))),
  );

const compiled = new Map<Dto, Rules>();

function compiledRules(dto: Dto): Rules {
  let rules = compiled.get(dto);
  if (!rules) {
    const properties: Property[] = [];
    compiled.set(dto, properties); // set before the nested DTOs are compiled, so that a class may contain itself
    try {
      properties.push(...compile(dto));
    } catch (error) {
      compiled.delete(dto);
      throw error;
    }
    rules = properties;
  }
  return rules;
}

type Metadata = ReturnType<
  ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']
>[number];

function compile(dto: Dto): Property[] {
  assertOwnClass(dto);
  const storage = getMetadataStorage();
  const byProperty = storage.groupByPropertyName(
    storage.getTargetValidationMetadatas(dto, '', true, false),
  );
  const properties = Object.entries(byProperty).map(([name, metadata]) =>
    compileProperty(dto, name, metadata),
  );
  // Fields are own keys of an instance, with or without a decorator.
  for (const name of new Set([...Object.keys(new dto()), ...Object.keys(byProperty)]))
    if (!byProperty[name]?.some(({ type }) => RULES.includes(type)))
      throw new Error(
        `${dto.name}.${name} has no rule, so that anything would pass: give it one, @AnyJson() where anything may`,
      );
  return properties;
}

/** Refuses a built-in class. TypeScript emits one when the class does not exist at run time. */
function assertOwnClass(dto: Dto | undefined): void {
  if (typeof dto !== 'function' || /\[native code\]/.test(Function.prototype.toString.call(dto)))
    throw new Error(
      `its type is ${dto?.name} at run time, which has no rules: declare it as a DTO class, imported without "type"`,
    );
}

function compileProperty(dto: Dto, name: string, metadata: Metadata[]): Property {
  const unknown = metadata.find(({ type }) => ![...RULES, CONDITIONAL].includes(type));
  if (unknown) throw cannotRun(dto, name, `of the type ${unknown.type}`);
  const nested = metadata.find(({ type }) => type === NESTED);
  return {
    name,
    other: weaveSpelling(name),
    isProject: metadata.some((rule) => rule.name === PROJECT_RULE),
    isOptional: metadata.some((rule) => rule.name === IS_OPTIONAL),
    conditions: metadata
      .filter(({ type, name: rule }) => type === CONDITIONAL && rule !== IS_OPTIONAL)
      .map(({ constraints }) => constraints[0]),
    // Decorators run from the last to the first; the parts of a combined decorator run from the first to the last.
    rules: metadata
      .toReversed()
      .toSorted((a, b) => rank(a) - rank(b))
      .flatMap((rule) => (rule.type === CUSTOM ? compileRule(dto, rule) : [])),
    nested: nested && { rules: compiledRules(nestedDto(dto, name)), each: nested.each },
  };
}

/** Types of class-validator's metadata that are compiled here. */
const NESTED = 'nestedValidation';
const CONDITIONAL = 'conditionalValidation';
const CUSTOM = 'customValidation';
/** `@AnyJson()` is the rule that accepts every value. */
const RULES = [NESTED, CUSTOM, 'whitelistValidation'];

const cannotRun = (dto: Dto, property: string, why: string) =>
  new Error(
    `${dto.name}.${property} has a rule that cannot run, ${why}; rules answer at once, whatever the value: see platform/http/dto.ts`,
  );

/** Orders the rules: the type of a value before its size, and a list as a whole before its items. */
const rank = ({ each, name }: Metadata) => (each ? 2 : /^is[A-Z]/.test(name ?? '') ? 0 : 1);

function compileRule(dto: Dto, metadata: Metadata): Rule[] {
  const { constraints, each, propertyName: property, message } = metadata;
  const found = getMetadataStorage().getTargetValidatorConstraints(metadata.constraintCls);
  if (found.length === 0) throw cannotRun(dto, property, 'whose class is no constraint');
  return found.map(({ instance }) => {
    const rule: Rule = (value, object) => {
      const args: ValidationArguments = {
        value,
        constraints,
        object,
        targetName: dto.name,
        property,
      };
      const isValid: unknown = instance.validate(value, args);
      if (isValid === true) return undefined;
      if (isValid !== false) throw new Error('the rule answers no boolean at once');
      const text = message ?? instance.defaultMessage?.(args) ?? 'is not valid';
      const template = typeof text === 'function' ? text(args) : text;
      return { path: '', message: wording(template, constraints) };
    };
    assertRuns(rule, (why) => cannotRun(dto, property, why));
    return each ? eachElement(rule) : rule;
  });
}

/** One value of each JSON type. */
const SAMPLES = [null, false, 0, '', [], {}];

/** Finds rules that cannot run before a client meets them. */
function assertRuns(rule: Rule, fault: (why: string) => Error): void {
  for (const value of SAMPLES)
    try {
      rule(value, {});
    } catch (error) {
      throw fault(`on ${JSON.stringify(value)}: ${(error as Error).message}`);
    }
}

const eachElement =
  (rule: Rule): Rule =>
  (values, object) => {
    if (!Array.isArray(values)) return { path: '', message: 'must be an array' };
    for (let i = 0; i < values.length; i++) {
      const violation = rule(values[i], object);
      if (violation) return { path: `[${i}]`, message: violation.message };
    }
    return undefined;
  };

/** Returns class-validator's message without the property's name, which is in `path`. It never repeats the value. */
function wording(template: string, constraints: unknown[] = []): string {
  return template
    .replace(/^(each value in )?\$property /, '')
    .replaceAll('$property', 'it')
    .replace(/\$constraint(\d+)/g, (_, n) => [constraints[Number(n) - 1]].flat().join(', '));
}

function nestedDto(dto: Dto, property: string): Dto {
  const type = defaultMetadataStorage.findTypeMetadata(dto, property);
  if (!type) throw new Error(`${dto.name}.${property} has @ValidateNested() but no @Type()`);
  return type.typeFunction() as Dto;
}

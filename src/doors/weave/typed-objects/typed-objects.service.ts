import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../platform/auth/caller.js';
import { ApiError } from '../../../platform/errors.js';
import { refTo } from '../../../platform/http/refs.js';
import {
  memberElements,
  memberTexts,
  objectText,
  valueAt,
} from '../../../platform/json/json-text.js';
import { EventLoopTurn } from '../../../platform/time/event-loop-turn.js';
import { FilesService } from '../../../tracing/objects/files/files.service.js';
import { ObjectsService } from '../../../tracing/objects/objects.service.js';
import { TablesService } from '../../../tracing/objects/tables/tables.service.js';
import type {
  DatasetCreateDto,
  DeletedDto,
  EvaluationCreateDto,
  EvaluationCreatedDto,
  TypedObjectKind,
  TypedModelCreateDto,
  ModelCreatedDto,
  OpCreateDto,
  ScorerCreateDto,
  ScorerCreatedDto,
  TypedObjectCreatedDto,
  TypedObjectsDeleteDto,
} from './typed-objects.dto.js';

const CLASSES = {
  datasets: 'Dataset',
  scorers: 'Scorer',
  evaluations: 'Evaluation',
  models: 'Model',
} as const;

const SOURCE_FILE = 'obj.py';
/** Characters of an object id. The ops of the object append their own names to it. */
const MAX_ID = 100;
/** Versions that are shaped at the same time, since one value may be large. */
const VALUES_AT_ONCE = 8;

const classMembers = (name: string): [string, string][] => [
  ['_type', JSON.stringify(name)],
  ['_class_name', JSON.stringify(name)],
  ['_bases', '["Object","BaseModel"]'],
];
const MANAGED_MEMBERS = ['_type', '_class_name', '_bases', 'name', 'description', 'files'];

/** A published version, as a plain object. */
type PublishedObject = Pick<TypedObjectCreatedDto, 'digest' | 'object_id' | 'version_index'>;

/** Publishes and reads ops, datasets, scorers, evaluations and models. They are stored as ordinary objects. */
@Injectable()
export class TypedObjectsService {
  /** The digest of placeholder ops, which all have the same content. */
  private placeholder: string | undefined;

  constructor(
    private readonly objects: ObjectsService,
    private readonly tables: TablesService,
    private readonly files: FilesService,
  ) {}

  async createOp(
    project_id: string,
    { name, source_code }: OpCreateDto,
    caller: Caller,
  ): Promise<TypedObjectCreatedDto> {
    return this.publishOp(project_id, objectId(name, 'Op'), source_code ?? PLACEHOLDER, caller);
  }

  async createDataset(
    project_id: string,
    body: DatasetCreateDto,
    text: string,
    caller: Caller,
  ): Promise<TypedObjectCreatedDto> {
    const table = { project_id, rows: body.rows };
    const { digest } = await this.tables.create(table, memberElements(text, 'rows'), caller);
    return this.publish(project_id, objectId(body.name, 'Dataset'), caller, [
      ...classMembers('Dataset'),
      ...nameMembers(body.name ?? 'Dataset', body.description),
      ['rows', JSON.stringify(refTo(project_id, `table/${digest}`))],
    ]);
  }

  async createScorer(
    project_id: string,
    { name, op_source_code, description }: ScorerCreateDto,
    caller: Caller,
  ): Promise<ScorerCreatedDto> {
    const id = objectId(name, 'Scorer');
    const score = await this.publishOp(project_id, `${id}_score`, op_source_code, caller);
    const summarize = await this.publishOp(project_id, `${id}_summarize`, PLACEHOLDER, caller);
    const created = await this.publish(project_id, id, caller, [
      ...classMembers('Scorer'),
      ...nameMembers(name, description),
      ['score', JSON.stringify(versionRef(project_id, 'op', score))],
      ['summarize', JSON.stringify(versionRef(project_id, 'op', summarize))],
      ['column_map', 'null'],
    ]);
    return { ...created, scorer: versionRef(project_id, 'object', created) };
  }

  /** `text` is the request body as it was sent. */
  async createEvaluation(
    project_id: string,
    body: EvaluationCreateDto,
    text: string,
    caller: Caller,
  ): Promise<EvaluationCreatedDto> {
    const { name, description, dataset, scorers, trials, evaluation_name, eval_attributes } = body;
    const id = objectId(name, 'Evaluation');
    const ops = [];
    for (const op of ['evaluate', 'predict_and_score', 'summarize']) {
      const published = await this.publishOp(project_id, `${id}.${op}`, PLACEHOLDER, caller);
      ops.push([op, JSON.stringify(versionRef(project_id, 'op', published))] as [string, string]);
    }
    const created = await this.publish(project_id, id, caller, [
      ...(eval_attributes ? memberTexts(valueAt(text, 'eval_attributes')) : []),
      ...classMembers('Evaluation'),
      ...nameMembers(name, description),
      ['dataset', JSON.stringify(dataset)],
      ['scorers', JSON.stringify(scorers ?? [])],
      ['trials', JSON.stringify(trials ?? 1)],
      ['evaluation_name', JSON.stringify(evaluation_name ?? null)],
      ['metadata', 'null'],
      ['preprocess_model_input', 'null'],
      ['on_complete', 'null'],
      ...ops,
    ]);
    return { ...created, evaluation_ref: versionRef(project_id, 'object', created) };
  }

  /** `text` is the request body as it was sent. */
  async createModel(
    project_id: string,
    { name, source_code, description, attributes }: TypedModelCreateDto,
    text: string,
    caller: Caller,
  ): Promise<ModelCreatedDto> {
    const file = await this.files.storeText(project_id, source_code, caller);
    const created = await this.publish(project_id, objectId(name, 'Model'), caller, [
      ...(attributes ? memberTexts(valueAt(text, 'attributes')) : []),
      ...classMembers('Model'),
      ...nameMembers(name, description),
      ['files', JSON.stringify({ [SOURCE_FILE]: file.digest })],
    ]);
    return { ...created, model_ref: versionRef(project_id, 'object', created) };
  }

  /** Publishes an op without source code, if needed, and returns its ref. */
  async placeholderOp(project_id: string, name: string, caller: Caller): Promise<string> {
    const id = name.replaceAll(/[^\w.-]/g, '_');
    const member = id.slice(id.lastIndexOf('.')); // the suffix, such as `.predict`, is kept
    const object_id = `${id.slice(0, -member.length).slice(0, MAX_ID - member.length)}${member}`;
    const digest = await this.placeholderDigest({ project_id, object_id }, caller);
    return versionRef(project_id, 'op', { object_id, digest });
  }

  /** The digest of the source code of placeholder ops. */
  get placeholderSource(): string {
    return this.files.textDigest(PLACEHOLDER);
  }

  /** Writers of one name wait for each other, so the op is published only when it does not exist. */
  private async placeholderDigest(
    of: { project_id: string; object_id: string },
    caller: Caller,
  ): Promise<string> {
    const known = this.placeholder && { ...of, digest: this.placeholder };
    // null means that it exists and is larger than 0 bytes
    if (known && (await this.objects.valueUpTo(known, 0)) !== undefined) return known.digest;
    const { digest } = await this.publishOp(of.project_id, of.object_id, PLACEHOLDER, caller);
    return (this.placeholder = digest);
  }

  private async publishOp(project_id: string, id: string, source: string, caller: Caller) {
    const { digest } = await this.files.storeText(project_id, source, caller);
    return this.publish(project_id, id, caller, [
      ['_type', '"CustomWeaveType"'],
      ['weave_type', '{"type":"Op"}'],
      ['files', JSON.stringify({ [SOURCE_FILE]: digest })],
    ]);
  }

  private publish(
    project_id: string,
    object_id: string,
    caller: Caller,
    members: Iterable<[string, string]>,
  ): Promise<PublishedObject> {
    const val = objectText(new Map(members)); // for a repeated name the last value counts
    return this.objects.create({ project_id, object_id, val: JSON.parse(val) }, val, caller);
  }

  /** Returns the versions of a kind as JSON texts, the oldest first. */
  async list(
    kind: TypedObjectKind,
    project_id: string,
    page: { limit?: number | null; offset?: number | null; eager?: string | null },
  ): Promise<Readable> {
    const { limit = null, offset = null } = page;
    const filter =
      kind === 'ops' ? { is_op: true } : { is_op: false, base_object_classes: [CLASSES[kind]] };
    const batches = await this.objects.stream({ project_id, filter, limit, offset });
    const hasCode = page.eager?.toLowerCase() !== 'false';
    return Readable.from(this.shapes(kind, project_id, batches, hasCode), {
      highWaterMark: 1,
    });
  }

  private async *shapes(
    kind: TypedObjectKind,
    projectId: string,
    batches: AsyncIterable<string[]>,
    hasCode: boolean,
  ): AsyncGenerator<string[]> {
    const turn = new EventLoopTurn();
    for await (const batch of batches)
      for (let i = 0; i < batch.length; i += VALUES_AT_ONCE) {
        const shapes = [];
        for (const json of batch.slice(i, i + VALUES_AT_ONCE)) {
          if (turn.isOver) await turn.next();
          shapes.push(await this.shape(kind, projectId, json, hasCode));
        }
        yield shapes;
      }
  }

  /**
   * Reads one version as JSON text.
   * @throws ApiError `not_found`, also for an object of another kind
   */
  async read(
    kind: TypedObjectKind,
    version: { project_id: string; object_id: string; digest: string },
    hasCode = true,
  ): Promise<string> {
    const json = await this.objects.read(version);
    const { kind: stored, base_object_class } = JSON.parse(
      objectText(
        [...memberTexts(json)].filter(([name]) => name === 'kind' || name === 'base_object_class'),
      ),
    ) as { kind: string; base_object_class: string | null };
    const isKind = kind === 'ops' ? stored === 'op' : base_object_class === CLASSES[kind];
    if (!isKind)
      throw new ApiError(
        'not_found',
        `${version.object_id}:${version.digest} is not one of the ${kind}`,
      );
    return this.shape(kind, version.project_id, json, hasCode);
  }

  private async shape(
    kind: TypedObjectKind,
    projectId: string,
    json: string,
    hasCode: boolean,
  ): Promise<string> {
    const members = memberTexts(json);
    const value = members.get('val')!.startsWith('{')
      ? memberTexts(members.get('val')!)
      : new Map<string, string>();
    const common = ['object_id', 'digest', 'version_index', 'created_at'].map(
      (name): [string, string] => [name, members.get(name)!],
    );
    const text = (name: string, otherwise = 'null') => value.get(name) ?? otherwise;
    const code = async () => (hasCode ? this.code(projectId, text('files')) : 'null');
    const name: [string, string] = ['name', text('name')];
    const description: [string, string] = ['description', text('description')];
    const own: Record<TypedObjectKind, () => Promise<[string, string][]>> = {
      ops: async () => [['code', await code()]],
      datasets: async () => [name, description, ['rows', text('rows')]],
      scorers: async () => [name, description, ['score_op', text('score')]],
      evaluations: async () => [
        name,
        description,
        ['dataset', text('dataset')],
        ['scorers', text('scorers', '[]')],
        ['trials', text('trials', '1')],
        ['evaluation_name', text('evaluation_name')],
        ['evaluate_op', text('evaluate')],
        ['predict_and_score_op', text('predict_and_score')],
        ['summarize_op', text('summarize')],
      ],
      models: async () => [
        name,
        description,
        ['source_code', await code()],
        [
          'attributes',
          objectText([...value].filter(([member]) => !MANAGED_MEMBERS.includes(member))),
        ],
      ],
    };
    return objectText([...common, ...(await own[kind]())]);
  }

  /** Returns the source code in an object's files as JSON text, or null. */
  private async code(projectId: string, files: string): Promise<string> {
    const digest = files.startsWith('{') ? memberTexts(files).get(SOURCE_FILE) : undefined;
    if (!digest?.startsWith('"')) return 'null';
    const file = { project_id: projectId, digest: JSON.parse(digest) as string };
    const source = await this.files.firstChunk(file);
    return JSON.stringify(source);
  }

  /**
   * Deletes versions of an object of a kind.
   * @throws ApiError `not_found`
   */
  async delete(
    kind: TypedObjectKind,
    {
      project_id,
      object_id,
      digests,
    }: { project_id: string; object_id: string } & TypedObjectsDeleteDto,
    caller: Caller,
  ): Promise<DeletedDto> {
    const words = digests === undefined || digests === null ? null : [digests].flat();
    await this.read(kind, { project_id, object_id, digest: words?.[0] ?? 'latest' }, false);
    return this.objects.delete({ project_id, object_id, digests: words }, caller);
  }
}

const PLACEHOLDER = '# made by the service: it has no source code\n';

const nameMembers = (name: string, description: string | null | undefined): [string, string][] => [
  ['name', JSON.stringify(name)],
  ['description', JSON.stringify(description ?? null)],
];

const objectId = (name: string | null | undefined, otherwise: string) =>
  (name || otherwise)
    .replaceAll(/[<>]/g, '')
    .replaceAll(/[^\w.-]/g, '_')
    .toLowerCase()
    .slice(0, MAX_ID) || otherwise.toLowerCase();

const versionRef = (
  projectId: string,
  kind: 'object' | 'op',
  { object_id, digest }: Pick<TypedObjectCreatedDto, 'object_id' | 'digest'>,
) => refTo(projectId, `${kind}/${object_id}:${digest}`);

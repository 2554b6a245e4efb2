import { Injectable } from '@nestjs/common';
import { memberTexts } from '../../platform/json/json-text.js';
import { ObjectsService } from '../../tracing/objects/objects.service.js';
import { ListObjectsToolDto, ReadObjectToolDto } from './mcp.dto.js';
import { type ToolAnswer, jsonExcerpt } from './tool-answer.js';
import {
  type ToolRequest,
  byOffset,
  NEWEST_FIRST,
  toolPage,
  pageLimit,
  tool,
  type ToolSource,
} from './tool.js';

@Injectable()
export class ObjectTools implements ToolSource {
  constructor(private readonly objects: ObjectsService) {}

  readonly tools = [
    tool({
      name: 'list_objects',
      description:
        'Versions of prompts, models, datasets, ops and other objects, by default the newest first, without their values. filter: object_ids, latest_only, is_op, base_object_classes, tags, aliases.',
      role: 'reader',
      dto: ListObjectsToolDto,
      shown: ['project_id', 'filter', 'limit', 'offset', 'max_tokens'],
      run: (args, asked) => this.list(args, asked),
    }),
    tool({
      name: 'read_object',
      description:
        'One version of an object with its value. digest is a digest, v0, v1 …, latest or an alias; offset reads on in a value that was cut.',
      role: 'reader',
      dto: ReadObjectToolDto,
      shown: ['project_id', 'object_id', 'digest', 'offset', 'max_tokens'],
      run: (args, asked) => this.read(args, asked),
    }),
  ];

  private async list(args: ListObjectsToolDto, asked: ToolRequest): Promise<ToolAnswer> {
    const limit = pageLimit(args.limit);
    const stream = await this.objects.stream(
      Object.assign({ metadata_only: true, sort_by: NEWEST_FIRST }, args, { limit }),
    );
    const rows = asked.budget.texts(stream);
    return toolPage('objects', rows, asked, { limit, after: byOffset(args.offset) });
  }

  private async read(args: ReadObjectToolDto, { budget }: ToolRequest): Promise<ToolAnswer> {
    const members = memberTexts(await this.objects.read(args));
    const value = members.get('val')!;
    members.delete('val');
    const facts = Array.from(members, ([name, text]) => `"${name}":${text}`).join(',');
    const room = budget.left - Buffer.byteLength(facts) - 12;
    return {
      words: 'The version.',
      recorded: `{${facts},"val":${jsonExcerpt(value, room, args.offset ?? 0)}}`,
    };
  }
}

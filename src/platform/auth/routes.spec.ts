import { Body, Controller, Get, Post, Query } from '@nestjs/common';
import { Type } from 'class-transformer';
import {
  Allow as Whitelist,
  IsOptional,
  IsString,
  Validate,
  ValidateBy,
  ValidateNested,
} from 'class-validator';
import { type ListKeysDto } from './keys/keys.dto.js';
import { IsProjectId } from '../http/dto.js';
import { QueryPipe } from '../http/query.pipe.js';
import { Allow, BasicAuth, NoProjectField, Public } from './access-decorators.js';
import { assertRoutes, routesOfController } from './routes.js';

class GoodDto {
  @IsProjectId() project_id!: string;
  @IsOptional() @IsString() note?: string | null;
  @IsOptional() @Whitelist() anything?: unknown;
}
class OuterDto {
  @ValidateNested() @Type(() => GoodDto) inner!: GoodDto;
}
class NoProjectDto {
  @IsString() id!: string;
}
class OptionalProjectDto {
  @IsOptional() @IsProjectId() project_id?: string;
}
class ListDto {
  @ValidateNested({ each: true }) @Type(() => GoodDto) list!: GoodDto[];
}
class UnruledDto extends GoodDto {
  rows!: string[];
}
class OnlyOptionalDto extends GoodDto {
  @IsOptional() size?: number;
}
class AsyncDto extends GoodDto {
  @ValidateBy({ name: 'isFree', validator: { validate: async () => false } }) name!: string;
}
class ThrowingDto extends GoodDto {
  @ValidateBy({ name: 'isShort', validator: { validate: (v: string) => v.length < 9 } })
  name!: string;
}
class NoConstraint {
  validate() {
    return false;
  }
}
class UnboundDto extends GoodDto {
  @Validate(NoConstraint) name!: string;
}
class UntypedDto extends GoodDto {
  @ValidateNested() inner!: object;
}
class DeepDto extends GoodDto {
  @ValidateNested() @Type(() => UnruledDto) inner!: UnruledDto;
}

function startFault(controller: Function): string {
  try {
    assertRoutes(routesOfController(controller));
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

/** Returns a controller with one route, which takes a body of the class. */
function taking(dto: Function, ...decorators: MethodDecorator[]): Function {
  @BasicAuth()
  @Allow('reader')
  @Controller('things')
  class ThingsController {
    handle(_body: unknown) {}
  }
  const handler = Object.getOwnPropertyDescriptor(ThingsController.prototype, 'handle')!;
  Reflect.defineMetadata('design:paramtypes', [dto], ThingsController.prototype, 'handle');
  Body()(ThingsController.prototype, 'handle', 0);
  for (const decorator of [Post('query'), ...decorators])
    decorator(ThingsController.prototype, 'handle', handler);
  return ThingsController;
}

describe('a route', () => {
  it.each([GoodDto, OuterDto])('may take %p', (dto) => expect(startFault(taking(dto))).toBe(''));

  it.each<[Function, RegExp]>([
    [NoProjectDto, /handle names no project: mark .* @IsProjectId\(\).* @NoProjectField/],
    [OptionalProjectDto, /names no project/],
    [ListDto, /names no project/],
    [UnruledDto, /UnruledDto\.rows has no rule/],
    [OnlyOptionalDto, /OnlyOptionalDto\.size has no rule/],
    [DeepDto, /UnruledDto\.rows has no rule/],
    [AsyncDto, /AsyncDto\.name has a rule that cannot run/],
    [ThrowingDto, /ThrowingDto\.name has a rule that cannot run/],
    [UnboundDto, /UnboundDto\.name has a rule that cannot run/],
    [UntypedDto, /UntypedDto\.inner has @ValidateNested\(\) but no @Type\(\)/],
    [Object, /is Object at run time.* imported without "type"/],
    [String, /is String at run time/],
  ])('may not take %p', (dto, message) => expect(startFault(taking(dto))).toMatch(message));

  it('may say why it names no project, and only then', () => {
    expect(startFault(taking(NoProjectDto, NoProjectField('it has none')))).toBe('');
    expect(startFault(taking(GoodDto, NoProjectField('it has none')))).toMatch(/is not true/);
  });

  it('may not take a class that vanishes when it is compiled', () => {
    @BasicAuth()
    @Allow('reader')
    @NoProjectField('it has none')
    @Controller()
    class TypeController {
      @Post('list') list(@Body() _body: ListKeysDto) {}
    }
    expect(startFault(TypeController)).toMatch(/list .* imported without "type"/);
  });

  it('may not take parts of what is sent, nor what no pipe looks at', () => {
    @BasicAuth()
    @Allow('reader')
    @NoProjectField('it has none')
    @Controller()
    class PartsController {
      @Post('a') a(@Body('id') _id: string) {}
      @Get('b') b(@Query('id') _id: string) {}
      @Get('c') c(@Query() _query: NoProjectDto) {}
      @Get('d') d(@Query(QueryPipe) _query: NoProjectDto) {}
    }
    const faults = startFault(PartsController).split('\n').slice(1);
    expect(faults.map((fault) => fault.split(' ')[0])).toEqual(
      ['a', 'b', 'c'].map((name) => `PartsController.${name}`),
    );
  });

  it('declares who may call it', () => {
    @Controller()
    class OpenController {
      @Get('a') a() {}
      @Get('b') @Public() b() {}
      @Post('c') @Public() c(@Body() _body: GoodDto) {}
    }
    expect(startFault(OpenController)).toMatch(
      /\.a needs @BasicAuth.*\n.*\.a needs @Allow.*\n.*\.a names no project.*\n.*\.c is @Public/,
    );
  });
});

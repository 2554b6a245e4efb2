import { Get, Header, Inject } from '@nestjs/common';
import { ApiExcludeEndpoint } from '@nestjs/swagger';
import { Public, Resource } from '../auth/access-decorators.js';
import { CONFIG, type Config } from '../config/config.js';
import { ProvidersService } from '../people/providers.service.js';
import { metrics } from '../process/metrics.js';
import { ApiError, ERRORS_PAGE, ERRORS_PATH } from '../errors.js';
import { WIRE } from '../http/wire-names.js';
import { allMetrics } from './all-metrics.js';
import { BuildService } from './build.service.js';
import { HealthDto, ReadinessDto, ServerInfoDto } from './operations.dto.js';
import { ReadinessService } from './readiness.service.js';

@Resource('operations', Public())
export class OperationsController {
  constructor(
    private readonly readinessService: ReadinessService,
    private readonly buildService: BuildService,
    private readonly providers: ProvidersService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** The process is up; says nothing of the database. */
  @Get('health')
  health(): HealthDto {
    return { status: 'ok' };
  }

  /**
   * 200 when the database answers, its schema is the newest and the process is not shutting down; else 503. It is 200 too
   * on a schema that a newer build has migrated, since migrations expand before they contract: `migrations` is `newer`;
   * while writes are refused, since reads go on: `writes` tells; and while a node of a cluster is away, since the projects
   * of the others go on: `unreachable_nodes` names it; and while people cannot sign in: `sign_in` says with which provider.
   */
  @Get('ready')
  async ready(): Promise<ReadinessDto> {
    const readiness = await this.readinessService.readiness();
    const fits = ['at_head', 'newer'].includes(readiness.migrations);
    if (!fits || readiness.draining)
      throw new ApiError('unavailable', 'the service is not ready', {
        extra: Object.fromEntries(Object.entries(readiness)),
        headers: { 'Retry-After': '1' },
      });
    return readiness;
  }

  /** The page that the `type` of a problem document leads to. */
  @Get(ERRORS_PATH)
  @Header('Content-Type', 'text/html; charset=utf-8')
  @Header('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'")
  @ApiExcludeEndpoint()
  errors(): string {
    return ERRORS_PAGE;
  }

  /** Prometheus text format. */
  @Get('metrics')
  @Header('Content-Type', metrics.contentType)
  @ApiExcludeEndpoint()
  metrics(): Promise<string> {
    return allMetrics();
  }

  /** The versions that SDKs look at before they start, what the service was built of, how people sign in, and the dialect of the names on the wire. */
  @Get('server_info')
  serverInfo(): ServerInfoDto {
    const { version, commit, schema } = this.buildService.build;
    return {
      min_required_weave_python_version: '0.0.1',
      trace_server_version: version,
      commit,
      schema,
      wire_dialect: WIRE.scheme,
      otlp_fold: this.config.otlpFold,
      sign_in: this.config.signInProviders.map((provider) => ({
        name: provider.name,
        issuer: provider.issuer,
        url: this.providers.address(provider, 'sign-in'),
      })),
      key_sign_in: this.config.consoleKeySignIn,
    };
  }
}

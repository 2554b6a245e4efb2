import { Get, Header, Inject } from '@nestjs/common';
import { ApiExcludeEndpoint } from '@nestjs/swagger';
import { Public, Resource } from '../auth/access-decorators.js';
import { CONFIG, type Config } from '../config/config.js';
import { ProvidersService } from '../people/providers.service.js';
import { metrics } from '../process/metrics.js';
import { ApiError, ERRORS_PAGE, ERRORS_PATH } from '../errors.js';
import { wire } from '../http/wire-names.js';
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

  /** Answers while the process runs. It does not check the database. */
  @Get('health')
  health(): HealthDto {
    return { status: 'ok' };
  }

  /**
   * 200 when the database answers, its schema is the newest, no other session locks the table of calls, and the process
   * is not shutting down; otherwise 503. Some problems leave it at 200. `migrations` is `newer` after a newer build has
   * migrated the schema, since migrations expand before they contract. `writes` is `refused` while only reads continue.
   * `unreachable_nodes` names nodes of a cluster that cannot be reached, while the projects of the others continue.
   * `sign_in` shows providers with which people cannot sign in.
   */
  @Get('ready')
  async ready(): Promise<ReadinessDto> {
    const readiness = await this.readinessService.readiness();
    const { migrations, writes, draining } = readiness;
    if (!['at_head', 'newer'].includes(migrations) || writes === 'locked' || draining)
      throw new ApiError('unavailable', 'the service is not ready', {
        extra: Object.fromEntries(Object.entries(readiness)),
        headers: { 'Retry-After': '1' },
      });
    return readiness;
  }

  /** The page to which the `type` of a problem document points. */
  @Get(ERRORS_PATH)
  @Header('Content-Type', 'text/html; charset=utf-8')
  @Header('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'")
  @ApiExcludeEndpoint()
  errors(): string {
    return ERRORS_PAGE;
  }

  @Get('metrics')
  @Header('Content-Type', metrics.contentType)
  @ApiExcludeEndpoint()
  metrics(): Promise<string> {
    return allMetrics();
  }

  /**
   * Versions that SDKs check before they start, the build of the service, the ways to sign in, and the dialect of names
   * on the wire.
   */
  @Get('server_info')
  serverInfo(): ServerInfoDto {
    const { version, commit, schema } = this.buildService.build;
    return {
      min_required_weave_python_version: '0.0.1',
      trace_server_version: version,
      commit,
      schema,
      wire_dialect: wire().scheme,
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

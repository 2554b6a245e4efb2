import { Get, Header } from '@nestjs/common';
import { ApiExcludeEndpoint, ApiOkResponse } from '@nestjs/swagger';
import { Public, Resource } from '../auth/access.js';
import { metrics } from '../process/metrics.js';
import { ApiError, ERRORS_PAGE, ERRORS_PATH } from '../errors.js';
import { WIRE } from '../http/wire.js';
import { allMetrics } from './all-metrics.js';
import { VERSION } from '../config/version.js';
import { type Readiness, ReadinessService } from './readiness.service.js';

@Resource('operations', Public())
export class OperationsController {
  constructor(private readonly readinessService: ReadinessService) {}

  /** The process is up; says nothing of the database. */
  @Get('health')
  @ApiOkResponse({ schema: { example: { status: 'ok' } } })
  health() {
    return { status: 'ok' };
  }

  /**
   * 200 when the database answers, its schema is the newest and the process is not shutting down; else 503. While writes
   * are refused it is 200 too, since reads go on: `writes` tells. So it is while a node of a cluster is away, since the
   * projects of the others go on: `unreachable_nodes` names it.
   */
  @Get('ready')
  @ApiOkResponse({
    schema: {
      example: { database: 'reachable', migrations: 'at_head', writes: 'taken', draining: false },
    },
  })
  async ready(): Promise<Readiness> {
    const readiness = await this.readinessService.readiness();
    if (readiness.migrations !== 'at_head' || readiness.draining)
      throw new ApiError('unavailable', 'the service is not ready', {
        extra: { ...readiness },
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

  /** The versions that SDKs look at before they start, and the dialect of the names on the wire. */
  @Get('server_info')
  @ApiOkResponse({
    schema: {
      example: {
        min_required_weave_python_version: '0.0.1',
        trace_server_version: VERSION,
        wire_dialect: 'svc',
      },
    },
  })
  serverInfo() {
    return {
      min_required_weave_python_version: '0.0.1',
      trace_server_version: VERSION,
      wire_dialect: WIRE.scheme,
    };
  }
}

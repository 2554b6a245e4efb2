import {
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { config } from '../config.js';
import { QueueService } from './queue.service.js';

/** Sees to it that every training job ends, whatever becomes of trainers, replicas and the database. */
@Injectable()
export class WatchdogService implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(WatchdogService.name);
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | null = null;

  constructor(private readonly queue: QueueService) {}

  onApplicationBootstrap(): void {
    const look = () => (this.running ??= this.look().finally(() => (this.running = null)));
    this.timer = setInterval(() => void look(), config.trainerHeartbeatSeconds * 1000).unref();
  }

  async onModuleDestroy(): Promise<void> {
    clearInterval(this.timer);
    await this.running;
  }

  /** A database that is away is looked for again next time. */
  async look(): Promise<void> {
    try {
      await this.queue.sweep();
    } catch (error) {
      this.logger.warn(`training jobs could not be looked after: ${(error as Error).message}`);
    }
  }
}

import { getHeapStatistics } from 'node:v8';
import { Injectable } from '@nestjs/common';
import { registerLabelledGauge } from '../process/metrics.js';
import { Probe } from '../database/probe.js';

/** Reports the limits of the process's memory, and jumps of the clocks of this process and of the database. */
@Injectable()
export class SystemMetrics {
  constructor(private readonly probe: Probe) {
    registerLabelledGauge(
      'skein_memory_limit_bytes',
      'What the heap and the container of the process may use; a container without a limit is left out.',
      { label: 'what' },
      memoryLimits,
    );
    registerLabelledGauge(
      'skein_clock_offset_seconds',
      'How far the clock of the process, and that of the database, are ahead of a clock that nobody can set.',
      { label: 'clock', aggregator: 'max' },
      () => this.clockOffsets(),
    );
  }

  private async clockOffsets(): Promise<Record<string, number>> {
    const process = Date.now() - steadyMs();
    try {
      const begun = steadyMs();
      const [row] = await this.probe.query<{ ms: string }[]>(
        'SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms',
      );
      const database = Number(row!.ms) - (begun + steadyMs()) / 2;
      return { process: process / 1000, database: database / 1000 };
    } catch {
      return { process: process / 1000 };
    }
  }
}

const steadyMs = () => performance.timeOrigin + performance.now();

function memoryLimits(): Record<string, number> {
  const heap = getHeapStatistics().heap_size_limit;
  const container = process.constrainedMemory();
  // Node returns 0 or a huge number without a limit.
  return container > 0 && container < 2 ** 53 ? { heap, container } : { heap };
}

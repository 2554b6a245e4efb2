import { connect } from 'node:tls';
import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../config/config.js';
import { Schedule } from '../database/schedule.js';
import { registerLabelledGauge } from '../process/metrics.js';

const EVERY_MS = 3_600_000;
const TIMEOUT_MS = 10_000;

/** Reports when the certificates of `PUBLIC_URL` and of the sign-in providers end. They are asked for each hour. */
@Injectable()
export class CertificatesMetrics {
  private readonly ends: Record<string, number> = {};

  constructor(@Inject(CONFIG) { publicUrl, signInProviders }: Config, schedule: Schedule) {
    registerLabelledGauge(
      'skein_certificate_expiry_timestamp_seconds',
      'When the certificate of a host ends: that of PUBLIC_URL and of each sign-in provider.',
      { label: 'host', aggregator: 'min' },
      () => this.ends,
    );
    const hosts = [publicUrl, ...signInProviders.map(({ issuer }) => issuer)]
      .filter((url) => url !== undefined)
      .map((url) => new URL(url))
      .filter(({ protocol }) => protocol === 'https:');
    const look = async () => {
      const asked = hosts.map(async ({ host, hostname, port }) => {
        this.ends[host] = await certificateEnd(hostname, Number(port) || 443);
      });
      await Promise.allSettled(asked);
      await Promise.all(asked); // throws the first failure
    };
    schedule.every(EVERY_MS, 'certificates', look, { isEager: true });
  }
}

/** Returns when the certificate of a host ends, in Unix seconds, whether it is valid or not. */
function certificateEnd(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    // The certificate is only read, and nothing is sent over the connection.
    const socket = connect({
      host,
      port,
      servername: host,
      rejectUnauthorized: false,
      timeout: TIMEOUT_MS,
    });
    socket.once('secureConnect', () => {
      resolve(Date.parse(socket.getPeerCertificate().valid_to) / 1000);
      socket.destroy();
    });
    socket.once('timeout', () => socket.destroy(new Error(`${host} did not answer in time`)));
    socket.once('error', reject);
  });
}

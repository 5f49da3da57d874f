import { z } from "zod";
import type { InstanceRecord } from "../instance-record.ts";
import { laptopTokenFile } from "../laptop-token.ts";
import { readSecret } from "../secret-files.ts";
import { TOGETHER } from "./service-plan.ts";

/** The address of the gateway, and the token that signs in the person of this laptop. */
export interface HttpAccess {
  readonly url: string;
  readonly token: string;
  readonly tokenFile: string;
}

const Gateway = z.object({ details: z.object({ http: z.string() }) });
/** Readiness as the gateway's process reports it, or the process with all services. */
const Report = z.union([
  Gateway,
  z
    .object({ services: z.object({ gateway: Gateway }) })
    .transform(({ services }) => services.gateway),
]);
const TIMEOUT_MS = 5_000;

/** Null when the gateway is away just now. */
export async function httpAccess(record: InstanceRecord, keys: string): Promise<HttpAccess | null> {
  const gateway = record.processes.find(({ name }) => name === "gateway" || name === TOGETHER);
  if (gateway?.healthUrl === null || gateway?.healthUrl === undefined) return null;
  const tokenFile = laptopTokenFile(keys);
  const token = await readSecret(tokenFile);
  const report = await fetch(new URL("/readyz", gateway.healthUrl), {
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
    .then((response) => response.json())
    .catch(() => null);
  const parsed = Report.safeParse(report);
  return token === null || !parsed.success
    ? null
    : { url: parsed.data.details.http, token, tokenFile };
}

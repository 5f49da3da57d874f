import type { Bus } from "@switchyard/bus/connect";
import type { DevInstance } from "../../test/lib/yard-dev.ts";

/** A running Switchyard and its gateway. */
export interface OurGateway {
  readonly bus: Bus;
  readonly instance: DevInstance;
  readonly url: string;
  readonly token: string;
}

/** The JSON answer of a POST; throws for anything but success. */
export async function post(
  { url, token }: Pick<OurGateway, "url" | "token">,
  path: string,
  body: object,
): Promise<Record<string, unknown>> {
  const response = await fetch(`${url}/api/v1${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${text}`);
  return JSON.parse(text) as Record<string, unknown>; // an answer is a JSON object
}

import { RUN_TOKEN_AUDIENCE, RUN_TOKEN_ISSUER } from "@switchyard/contracts/policy/run-token";
import {
  createRunTokenKey,
  createRunTokenSigner,
  createRunTokenVerifier,
} from "@switchyard/service/run-token";
import type { Figure } from "../lib/figure.ts";

const CHECKS_A_SAMPLE = 200;
const GOAL_US = 5;

/** The median time to verify a run token that is known already, in samples of many. */
export async function tokenFigure(windowMs: number): Promise<Figure> {
  const { privateJwk, publicJwk } = await createRunTokenKey();
  const sign = await createRunTokenSigner(privateJwk);
  const verify = await createRunTokenVerifier(publicJwk);
  const iat = Math.floor(Date.now() / 1000);
  const token = await sign({
    iss: RUN_TOKEN_ISSUER,
    aud: RUN_TOKEN_AUDIENCE,
    sub: "researcher",
    run: "r1",
    requester: "team-a",
    holder: "runner",
    tools: [["mcp__github__*", "read_file"], ["*"]],
    iat,
    exp: iat + 3_600,
  });
  const samples: number[] = [];
  for (const until = performance.now() + windowMs; performance.now() < until;) {
    const started = performance.now();
    for (let n = 0; n < CHECKS_A_SAMPLE; n += 1) await verify(token);
    samples.push(((performance.now() - started) * 1000) / CHECKS_A_SAMPLE);
  }
  samples.sort((one, other) => one - other);
  const value = samples[Math.floor(samples.length / 2)] ?? Number.NaN;
  const name = "verification of a known run token p50";
  return { name, value, unit: "µs", goal: `≤ ${GOAL_US} µs`, met: value <= GOAL_US };
}

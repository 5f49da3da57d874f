import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  type DiscoverResult,
} from "@modelcontextprotocol/client";
import { firstApproach, nextApproach, MODERN_VERSION } from "./connect-approach.ts";
import type { EraVerdict } from "./verdict-store.ts";

const LEGACY_VERSION = "2025-11-25";
const discover = { supportedVersions: [MODERN_VERSION], capabilities: {} } as DiscoverResult; // the only members that are read
const modern: EraVerdict = { era: "modern", discover };
const legacy: EraVerdict = { era: "legacy", transport: "sse" };
const verdicts: readonly (EraVerdict | null)[] = [null, modern, legacy];

test("the version of a server's entry decides how it is connected, whatever was remembered", () => {
  for (const transport of ["http", "stdio"] as const)
    for (const verdict of verdicts) {
      assert.deepEqual(firstApproach(transport, verdict, MODERN_VERSION), {
        transport,
        mode: { pin: MODERN_VERSION },
        prior: null,
      });
      assert.deepEqual(firstApproach(transport, verdict, LEGACY_VERSION), {
        transport,
        mode: "legacy",
        prior: null,
      });
    }
});

test("without a version what was remembered decides, else HTTP is probed and a process is not", () => {
  assert.deepEqual(firstApproach("http", null), { transport: "http", mode: "auto", prior: null });
  assert.deepEqual(firstApproach("stdio", null), {
    transport: "stdio",
    mode: "legacy",
    prior: null,
  });
  assert.deepEqual(firstApproach("http", modern).prior, { kind: "modern", discover });
  const remembered = firstApproach("http", legacy);
  assert.deepEqual([remembered.transport, remembered.mode], ["sse", "legacy"]);
});

test("a server with a version in its entry is not probed for another one, and an older one may need another transport", () => {
  const silent = new SdkError(SdkErrorCode.RequestTimeout, "timed out");
  const refused = new ProtocolError(-32_601, "no such method");
  const missing = new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, "no", { status: 404 });
  for (const error of [silent, refused, missing]) {
    const failure = { error, isShaken: false };
    const pinned = firstApproach("http", null, MODERN_VERSION);
    assert.equal(nextApproach("http", pinned, failure, MODERN_VERSION), null);
    const older = firstApproach("stdio", null, LEGACY_VERSION);
    assert.equal(nextApproach("stdio", older, failure, LEGACY_VERSION), null);
  }
  const older = firstApproach("http", null, LEGACY_VERSION);
  const failure = { error: missing, isShaken: false };
  assert.deepEqual(nextApproach("http", older, failure, LEGACY_VERSION), {
    transport: "sse",
    mode: "legacy",
    prior: null,
  });
});

import { execFile, spawn } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { after } from "node:test";
import { promisify } from "node:util";
import { freePort } from "@switchyard/local-servers/free-port";
import { until } from "@switchyard/local-servers/until";
import { testDirectory } from "./test-servers.ts";

/** An S3-compatible server that keeps objects as files. */
export interface TestS3 {
  readonly endpoint: string;
  /** The directory with a folder for each bucket. */
  readonly directory: string;
  /** Variables with the keys that it accepts. */
  readonly env: { readonly AWS_ACCESS_KEY_ID: string; readonly AWS_SECRET_ACCESS_KEY: string };
}

const BUILD_MS = 400_000;
const PROGRAM = "github.com/versity/versitygw/cmd/versitygw@v1.8.0";

/**
 * An S3-compatible server on loopback with one bucket, stopped when the test ends; or the reason why there is none. It checks keys and signatures, and
 * is built with Go.
 */
export async function testS3(bucket: string): Promise<TestS3 | { readonly skip: string }> {
  const place = await testDirectory();
  try {
    const env = { ...process.env, GOBIN: place };
    await promisify(execFile)("go", ["install", PROGRAM], { env, timeout: BUILD_MS });
  } catch (error) {
    return { skip: `the S3 server could not be built: ${String(error).slice(0, 300)}` };
  }
  const directory = join(place, "data");
  await mkdir(join(directory, bucket), { recursive: true });
  const port = await freePort();
  const [key, secret] = ["test-key", "test-secret"];
  const child = spawn(
    join(place, "versitygw"),
    ["--quiet", "--port", `127.0.0.1:${port}`, "posix", directory],
    {
      env: { ...process.env, ROOT_ACCESS_KEY: key, ROOT_SECRET_KEY: secret },
      stdio: "ignore",
    },
  );
  after(() => child.kill("SIGKILL"));
  const endpoint = `http://127.0.0.1:${port}`;
  await until(() =>
    fetch(endpoint).then(
      () => true,
      () => false,
    ),
  );
  return {
    endpoint,
    directory,
    env: { AWS_ACCESS_KEY_ID: key, AWS_SECRET_ACCESS_KEY: secret },
  };
}

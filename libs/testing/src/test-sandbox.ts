import { dirname } from "node:path";
import { resolveBubblewrap } from "@switchyard/local-servers/resolve-bubblewrap";
import { findBubblewrap } from "@switchyard/service/process/sandbox";

/** The sandbox for tests. */
export interface TestSandbox {
  readonly program: string;
  /** The value of YARD_BIN_DIR for services under test; empty when there is no program. */
  readonly directory: string;
  /** The reason why no sandbox works here, as the `skip` of a test that needs one; else false. */
  readonly skip: string | false;
}

/** Finds bubblewrap, out of the distribution's packages when it must, and tries to make a sandbox with it. */
export async function testSandbox(): Promise<TestSandbox> {
  const found = await resolveBubblewrap({ env: process.env, log: () => {} });
  if ("reason" in found)
    return { program: "", directory: "", skip: `no sandbox works here: ${found.reason}` };
  const program = found.binary;
  const directory = dirname(program);
  return findBubblewrap({ program, path: process.env["PATH"] ?? "" }).then(
    () => ({ program, directory, skip: false }),
    (error: unknown) => ({ program, directory, skip: `no sandbox works here: ${String(error)}` }),
  );
}

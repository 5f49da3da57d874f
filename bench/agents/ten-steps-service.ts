import { pathToFileURL } from "node:url";

// A Restate service whose handler takes ten journaled steps; a process of its own, as a runner is.

/** The used parts of `@restatedev/restate-sdk`, which is installed only for this benchmark. */
interface RestateSdk {
  service(definition: {
    name: string;
    handlers: Record<string, (context: Context) => Promise<unknown>>;
  }): unknown;
  serve(options: { services: unknown[]; port: number }): Promise<number>;
}
interface Context {
  run<T>(name: string, action: () => T): Promise<T>;
}

const STEPS = 10;
const sdkFile = process.env["RESTATE_SDK"] ?? "";
const sdk = (await import(pathToFileURL(sdkFile).href)) as RestateSdk; // as its own types declare
await sdk.serve({
  port: Number(process.env["RESTATE_SERVICE_PORT"]),
  services: [
    sdk.service({
      name: "bench",
      handlers: {
        async tenSteps(context) {
          let sum = 0;
          for (let step = 0; step < STEPS; step += 1)
            sum += await context.run(`step ${step}`, () => step);
          return sum;
        },
      },
    }),
  ],
});
process.send?.("ready");

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { threadCpuUsage } from "node:process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

// Loaded into a service with `--import`, this reports for how long one turn of its event loop took the processor, and how far its memory grew.
// It counts processor time, because on a busy machine the clock also runs while other processes have the processor.

const TICK_MS = 5;
const MICROSECONDS = 1_000;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void; // there since the flag is set

let stallMs = 0;
let peakBytes = 0;
let before = cpuMs();

setInterval(() => {
  const now = cpuMs();
  stallMs = Math.max(stallMs, now - before);
  peakBytes = Math.max(peakBytes, process.memoryUsage.rss());
  before = cpuMs();
}, TICK_MS).unref();

/** `/begin` starts a measurement, `/` returns its maxima so far. */
const server = createServer((request, response) => {
  if (request.url === "/begin") {
    collectGarbage();
    stallMs = 0;
    peakBytes = process.memoryUsage.rss();
    before = cpuMs();
  }
  response.end(JSON.stringify({ stallMs, peakBytes }));
});
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo; // it listens at a port
  process.stdout.write(
    `${JSON.stringify({ msg: "stall watch", url: `http://127.0.0.1:${port}` })}\n`,
  );
});
server.unref();

function cpuMs(): number {
  const { user, system } = threadCpuUsage();
  return (user + system) / MICROSECONDS;
}

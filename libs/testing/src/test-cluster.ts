import { freePort } from "@switchyard/local-servers/free-port";
import type { RunningServer } from "@switchyard/local-servers/server-process";
import { testDirectory, testNats } from "./test-servers.ts";
import { until } from "@switchyard/local-servers/until";

/** One server of a cluster, which can be stopped and restarted with its data. */
export interface ClusterNode {
  /** The name that JetStream uses when it reports the leader of a stream: `n0`, `n1`, … */
  readonly name: string;
  readonly server: RunningServer;
  /** Starts it again on the same port with the same data, after it ended. */
  restart(): Promise<void>;
}

export interface TestCluster {
  readonly nodes: readonly ClusterNode[];
  /** All servers, separated by commas. */
  readonly url: string;
}

/** Servers of NATS on loopback that replicate to each other. Resolves when they have elected leaders; they end with the test. */
export async function testNatsCluster(size: number): Promise<TestCluster> {
  const ports = await Promise.all(Array.from({ length: size }, freePort));
  const routes = ports.map((port) => `"nats-route://127.0.0.1:${port}"`).join(", ");
  const nodes = await Promise.all(
    ports.map(async (routePort, index) => {
      const name = `n${index}`;
      const dataDir = await testDirectory();
      const authorization = `server_name: ${name}
cluster { name: test, listen: "127.0.0.1:${routePort}", routes: [${routes}] }`;
      let server = await testNats({ dataDir, authorization, asProgram: true });
      const { port } = server;
      return {
        name,
        get server() {
          return server;
        },
        async restart() {
          await server.exited;
          server = await testNats({ dataDir, authorization, port, asProgram: true });
        },
      };
    }),
  );
  await Promise.all(nodes.map(({ server }) => untilHealthy(server)));
  return { nodes, url: nodes.map(({ server }) => server.url).join(",") };
}

/** Resolves when the server serves clients and has caught up with what the others have stored. */
export async function untilHealthy({ monitorUrl }: RunningServer): Promise<void> {
  await until(async () => (await fetch(new URL("/healthz", monitorUrl))).ok);
}

/** The configuration of a local nats-server. A port of -1 means any free one; paths are those the server sees. */
export function natsServerConfig(options: {
  host: string;
  port: number;
  monitorPort: number;
  storeDir: string;
  /** The directory where the server writes its ports. */
  portsDir?: string;
  /** More configuration text, put last. */
  extra: string;
}): string {
  const { host, port, monitorPort, storeDir, portsDir, extra } = options;
  return `server_name: "yard-local"
listen: "${host}:${port}"
http: "${host}:${monitorPort}"
${portsDir === undefined ? "" : `ports_file_dir: ${JSON.stringify(portsDir)}\n`}max_payload: 1MB
# A replica that stands still leaves its queue groups after 4 to 6 s, by default after four to six minutes.
ping_interval: 1s
ping_max: 4
jetstream {
  store_dir: ${JSON.stringify(storeDir)}
  sync_interval: always
  # By itself the server refuses streams that might outgrow three quarters of the free disk.
  max_file_store: 1TB
}
${extra}
`;
}

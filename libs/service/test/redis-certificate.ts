import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after } from "node:test";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { testDirectory } from "@switchyard/testing/test-servers";
import { generate } from "selfsigned";

/** Files of a certificate for 127.0.0.1 that is its own authority, and a function after which this process trusts it. */
export async function redisCertificate() {
  const directory = await testDirectory();
  const files = { cert: join(directory, "tls.crt"), key: join(directory, "tls.key") };
  const { private: key, cert } = await generate([{ name: "commonName", value: "redis.test" }], {
    extensions: [
      { name: "basicConstraints", cA: true },
      { name: "subjectAltName", altNames: [{ type: 7, ip: "127.0.0.1" }] },
    ],
  });
  await writeFile(files.cert, cert);
  await writeFile(files.key, key, { mode: 0o600 });
  const before = getCACertificates("default");
  // The effect is that of NODE_EXTRA_CA_CERTS at the start of a process, until the file or test ends.
  const trust = () => setDefaultCACertificates([...before, cert]);
  after(() => setDefaultCACertificates(before));
  return { files, trust };
}

// The MCP server that a CLI starts: it only copies bytes between its standard input and output and the host of the run.
import { connect } from "node:net";

const [path = ""] = process.argv.slice(2);
let isOpen = false;
let isLeft = false;
process.stdin.on("end", () => (isLeft = true));
const socket = connect(path, () => (isOpen = true));
// The host accepts only connections that send the key: the socket is in a directory of this user, which other programs of the user
// can read, too.
socket.write(`${process.env["SWITCHYARD_RUN_KEY"] ?? ""}\n`);
process.stdin.pipe(socket);
socket.pipe(process.stdout, { end: false });
socket.on("error", () => {}); // it closes, too
socket.on("close", () => {
  if (isLeft) process.exit(0);
  if (!isOpen) process.exit(1);
  // The host has died. The CLI ends with it: a failed call would be stored in its session, which the next host resumes.
  process.kill(0, "SIGKILL");
});

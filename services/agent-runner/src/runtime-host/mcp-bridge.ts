// The MCP server that a CLI starts: it carries bytes between its standard input and output and the host of the run, and knows nothing itself.
import { connect } from "node:net";

const [path = ""] = process.argv.slice(2);
const socket = connect(path);
// The host believes nobody who cannot say it: the socket lies where only this user may look, and so may other programs of this user.
socket.write(`${process.env["SWITCHYARD_RUN_KEY"] ?? ""}\n`);
process.stdin.pipe(socket);
socket.pipe(process.stdout);
socket.on("error", () => process.exit(1));
socket.on("close", () => process.exit(0));

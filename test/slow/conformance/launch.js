// The server command of the conformance runner. The listeners are in the test's process, and serve
// while this process runs: starting a server for each is too slow on a busy machine.
import { connect } from "node:net";

const socket = connect(Number(process.argv[2]), "127.0.0.1");
socket.on("error", () => process.exit(1));
process.stdin.pipe(socket, { end: false });
socket.pipe(process.stdout);
process.once("SIGTERM", () => process.exit(0));

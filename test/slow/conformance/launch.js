// What the conformance runner starts as a server. The listeners stand in the test's own process, which
// serves as long as this one runs: a start of its own for each server is too slow on a busy machine.
import { connect } from "node:net";

const socket = connect(Number(process.argv[2]), "127.0.0.1");
socket.on("error", () => process.exit(1));
process.stdin.pipe(socket, { end: false });
socket.pipe(process.stdout);
process.once("SIGTERM", () => process.exit(0));

import CProcess
import CSandbox
import CVips
import ErrandImages
import FoundationEssentials

#if canImport(Glibc)
import Glibc
#endif

// errand-image: compresses photos from standard input. Errand starts it with its memory limit as the only argument. It
// opens no file and no connection, and after its hello the sandbox forbids that.
//
// With `cards` as a second argument it draws cards. Then it may open files for reading, since text needs fonts, and it
// reads no photo.

/// Writes the reason to standard error, and exits.
func giveUp(_ reason: String, code: Int32) -> Never {
    FileHandleWriter(descriptor: 2).write(Array("errand-image: \(reason)\n".utf8))
    exit(code)
}

// Swift's own are lost under some preloaded libraries.
let arguments = (1..<max(1, process_argument_count())).map { String(cString: process_argument($0)) }
let drawsCards = arguments.dropFirst() == ["cards"]
guard arguments.count == 1 || drawsCards, let addressSpace = arguments.first.flatMap(UInt64.init) else {
    giveUp("this program is started by errand. To compress a file: errand image compress IN OUT", code: 64)
}

// The limit of file sizes is 0 bytes, so a write to standard error would raise SIGXFSZ if that is a file.
signal(SIGXFSZ, SIG_IGN)
// A terminal and many runners signal all processes of a group. This process ends with its input or its parent, and the
// parent lets the current photo finish.
for number in [SIGTERM, SIGINT, SIGHUP, SIGQUIT] { signal(number, SIG_IGN) }
let entered = sandbox_enter(SandboxLimits(address_space: addressSpace, open_files: 64))
if entered != 0 { giveUp("cannot set the limits: \(String(cString: strerror(entered)))", code: 71) }
if cvips_start("errand-image") != 0 || cvips_warm() != 0 { giveUp("libvips: \(takeVipsError())", code: 69) }
let locked = sandbox_lock(drawsCards ? 1 : 0)
if locked != 0 { giveUp("cannot enter the sandbox: \(String(cString: strerror(locked)))", code: 71) }

Conversation(input: 0, output: 1, drawsCards: drawsCards).run()

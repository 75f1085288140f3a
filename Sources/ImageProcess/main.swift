import CSandbox
import CVips
import ErrandImages
import FoundationEssentials

#if canImport(Glibc)
import Glibc
#endif

// errand-image: compresses the photos that come in at standard input. Errand starts it, with the most memory that it
// may use as its only argument. It opens no file and no connection, and after its greeting it couldn't any more.

/// Says on standard error why nothing goes on, and ends.
func giveUp(_ reason: String, code: Int32) -> Never {
    FileHandleWriter(descriptor: 2).write(Array("errand-image: \(reason)\n".utf8))
    exit(code)
}

guard CommandLine.arguments.count == 2, let addressSpace = UInt64(CommandLine.arguments[1]) else {
    giveUp("this program is started by errand. To compress a file: errand image compress IN OUT", code: 64)
}

// Where standard error is a file, a word to it would be a file of more than 0 bytes.
signal(SIGXFSZ, SIG_IGN)
// A terminal and many runners signal all processes of a group. It ends with its input or its parent, and the photo under way
// is part of what that one lets finish.
for number in [SIGTERM, SIGINT, SIGHUP] { signal(number, SIG_IGN) }
let entered = sandbox_enter(SandboxLimits(address_space: addressSpace, open_files: 64))
if entered != 0 { giveUp("cannot set the limits: \(String(cString: strerror(entered)))", code: 71) }
if cvips_start("errand-image") != 0 || cvips_warm() != 0 { giveUp("libvips: \(takeVipsError())", code: 69) }
let locked = sandbox_lock()
if locked != 0 { giveUp("cannot lock itself in: \(String(cString: strerror(locked)))", code: 71) }

Conversation(input: 0, output: 1).run()

// é
module {}
